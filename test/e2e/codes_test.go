package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/datadir"
	codes "github.com/toolcrib/toolcrib/internal/message"
	"github.com/toolcrib/toolcrib/test/e2e/rig"
)

// proofs says for every code which test provokes it: the directory of a package
// and a test of it, which names the code.
func proofs() map[codes.Code]string {
	return map[codes.Code]string{
		// About a call.
		codes.Internal:        "internal/gateway.TestPanic",
		codes.ToolUnknown:     "test/e2e.TestCommandReasons",
		codes.MethodUnknown:   "internal/face/mcp.TestHostile",
		codes.ParamsInvalid:   "test/e2e.TestJSONTricks",
		codes.CursorUnknown:   "internal/catalog.TestForgedCursors",
		codes.Timeout:         "test/e2e.TestControllerFile",
		codes.Cancelled:       "internal/upstream.TestCancel",
		codes.OutcomeUnknown:  "test/faults.TestSpoiltCalls",
		codes.NotAskable:      "internal/gateway.TestSingleAnswer",
		codes.ShuttingDown:    "internal/face/mcp.TestStop",
		codes.TooManySessions: "internal/gateway.TestTooManySessions",
		codes.ServerStopped:   "test/e2e.TestServerReasons",
		codes.ServerBroken:    "test/faults.TestBreaker",
		codes.AllFailed:       "internal/call.TestBrokenServersArePassedOver",
		codes.CallRetried:     "internal/call.TestRetriesAreTold",
		codes.ToolChanged:     "test/e2e.TestPinned",

		// About arguments and limits.
		codes.ArgumentsInvalid: "internal/call.TestValidateBeforeTheServer",
		codes.Limited:          "internal/call.TestLimitRate",
		codes.QueueFull:        "internal/call.TestLimitConcurrency",
		codes.QueueExpired:     "internal/call.TestLimitGivenUp",
		codes.CallWaits:        "internal/call.TestLimitTells",

		// About what the rules say to a call, and about calls that wait for a person.
		codes.PolicyDenied:      "internal/call.TestNoWayAround",
		codes.ApprovalPending:   "internal/call.TestTicket",
		codes.ApprovalRejected:  "internal/call.TestNotApproved",
		codes.ApprovalExpired:   "internal/call.TestNotApproved",
		codes.ApprovalCancelled: "internal/call.TestNotApproved",
		codes.ApprovalWaits:     "internal/call.TestNotApproved",
		codes.ApprovalStale:     "internal/call.TestEdited",
		codes.CallOvertaken:     "internal/call.TestSureBeforeSending",
		codes.ApprovalQuestion:  "internal/call.TestElicited",
		codes.ApprovalYes:       "internal/call.TestElicited",
		codes.ApprovalNo:        "internal/call.TestElicited",

		// About requests that people agree to calls, and about grants.
		codes.ApprovalUnknown:   "internal/approval.TestSeen",
		codes.ApprovalForeign:   "internal/call.TestStatesThatDoNotCount",
		codes.ApprovalDecided:   "internal/approval.TestDeciders",
		codes.ApprovalUndecided: "internal/approval.TestTwo",
		codes.ApprovalOwn:       "internal/approval.TestOwn",
		codes.ApprovalConfirm:   "internal/approval.TestTwo",
		codes.ApprovalSecond:    "internal/approval.TestTwo",
		codes.ApprovalChanged:   "internal/approval.TestTwo",
		codes.ApprovalTaken:     "internal/approval.TestWay",
		codes.ApprovalInvalid:   "internal/approval.TestEdit",
		codes.ApprovalsFull:     "internal/approval.TestAskRefused",
		codes.GrantUnknown:      "internal/approval.TestGrant",
		codes.GrantInvalid:      "internal/approval.TestGrantRefused",

		// About what a session shows of its calls.
		codes.StateNotFailed: "internal/face/rest.TestStateRetry",
		codes.StateUnderWay:  "internal/face/rest.TestStateUnderWay",
		codes.StateExhausted: "internal/face/rest.TestStateRetry",
		codes.StateNotKept:   "internal/face/rest.TestStateRetry",

		// About resources, prompts, questions and views.
		codes.ResourceUnknown:      "internal/call.TestVerbsRefused",
		codes.PromptUnknown:        "internal/call.TestVerbsRefused",
		codes.GroupUnknown:         "internal/catalog.TestGroupNames",
		codes.EndpointUnknown:      "internal/face/rest.TestEndpoint",
		codes.EndpointIdle:         "internal/face/rest.TestEndpoint",
		codes.BackendUnknown:       "internal/face/rest.TestBackend",
		codes.DeviceUnknown:        "internal/face/rest.TestDevices",
		codes.ToolLike:             "internal/call.TestCallToolRefuses",
		codes.NotOffered:           "internal/upstream.TestNotOffered",
		codes.QuestionForeign:      "internal/gateway.TestEras",
		codes.QuestionUnasked:      "internal/gateway.TestAskable",
		codes.QuestionTooMany:      "internal/gateway.TestTooManyQuestions",
		codes.QuestionExpired:      "internal/gateway.TestWithdrawn",
		codes.CallersTooMany:       "internal/fleet.TestOwnAreBounded",
		codes.SubscriptionsTooMany: "internal/fleet.TestSubscribeRefused",
		codes.EventUnknown:         "internal/face/mcp.TestResume",
		codes.LinkRefused:          "internal/call.TestLinkToThisMachine",
		codes.ResultGone:           "internal/call.TestSpill",
		codes.ResultKept:           "internal/call.TestSpill",

		// About a server.
		codes.ServerDisabled:     "test/e2e.TestServerReasons",
		codes.ServerDown:         "test/e2e.TestVSCodeFile",
		codes.CommandNotFound:    "test/e2e.TestReady",
		codes.CommandUnusable:    "test/faults.TestHealthSaysWhatToDo",
		codes.NodeMissing:        "test/faults.TestHealthSaysWhatToDo",
		codes.UvMissing:          "test/faults.TestHealthSaysWhatToDo",
		codes.ServerExited:       "test/e2e.TestReady",
		codes.ServerCrashLoop:    "test/faults.TestHealthSaysWhatToDo",
		codes.ServerSilent:       "test/faults.TestHealthSaysWhatToDo",
		codes.ServerNotMCP:       "test/faults.TestHealthSaysWhatToDo",
		codes.ServerProtocol:     "test/e2e.TestReady",
		codes.ServerUnreachable:  "test/e2e.TestReady",
		codes.ServerUnauthorized: "internal/upstream.TestRemoteFaults",
		codes.ServerHTTPStatus:   "test/faults.TestNeverReady",
		codes.ServerReplyTooBig:  "test/faults.TestSpoiltCalls",
		codes.ServerBadReply:     "test/faults.TestSpoiltCalls",
		codes.ServerRefused:      "test/faults.TestNeverReady",
		codes.SessionLost:        "internal/upstream.TestLostSession",
		codes.ServerIdle:         "internal/upstream.TestIdle",
		codes.ServerClosed:       "internal/upstream.TestRemoteFaults",
		codes.ServerCertificate:  "internal/upstream.TestRemoteFaults",
		codes.ServerEndpoint:     "internal/upstream.TestRemoteFaults",
		codes.ServerFallback:     "internal/upstream.TestFallbackFaults",
		codes.ServerUnhealthy:    "internal/fleet.TestProbes",
		codes.ServerReconnects:   "test/e2e.TestReady",
		codes.ServerNotRestarted: "test/e2e.TestReady",
		codes.SandboxMissing:     "test/e2e.TestNoSandbox",
		codes.SandboxUnusable:    "internal/upstream.TestSandboxThatCannotBe",

		// About logins at servers.
		codes.UpstreamLoginNeeded:  "internal/oauth.TestLogin",
		codes.UpstreamScopeNeeded:  "internal/oauth.TestScopes",
		codes.UpstreamLoginFailed:  "internal/oauth.TestMixUp",
		codes.UpstreamLoginUnused:  "internal/oauth.TestNoLogin",
		codes.UpstreamLoginUnknown: "internal/oauth.TestOneLogin",
		codes.UpstreamLoginNowhere: "internal/oauth.TestNoLogin",
		codes.UpstreamLoginBusy:    "internal/oauth.TestNoLogin",
		codes.UpstreamLoginsFull:   "internal/oauth.TestBoundOfAccounts",

		// About a request.
		codes.MessageMalformed:   "test/e2e.TestJSONTricks",
		codes.MessageInvalid:     "test/e2e.TestJSONTricks",
		codes.MessageTooBig:      "test/e2e.TestTooMuch",
		codes.SessionUnknown:     "test/e2e.TestSessions",
		codes.SessionMissing:     "test/e2e.TestSessions",
		codes.VersionUnsupported: "test/e2e.TestSessions",
		codes.HeaderMismatch:     "internal/face/mcp.TestUnknownRevision",
		codes.MetaMissing:        "internal/face/mcp.TestHostile",
		codes.HostRefused:        "test/e2e.TestStrangers",
		codes.OriginRefused:      "test/e2e.TestStrangers",
		codes.AcceptRefused:      "test/e2e.TestRefusals",
		codes.TypeRefused:        "test/e2e.TestPagesOfOtherPorts",
		codes.BatchRefused:       "test/e2e.TestBatch",
		codes.HTTPMethodRefused:  "test/e2e.TestDoorReasons",
		codes.NotInitialized:     "internal/face/mcp.TestHostile",
		codes.StreamUnknown:      "test/e2e.TestDoorReasons",
		codes.UpgradeRequired:    "test/e2e.TestDoorReasons",
		codes.HubLost:            "test/e2e.TestHubKilledUnderStdio",
		codes.TokenRequired:      "test/e2e.TestExposed",
		codes.TokenRefused:       "test/e2e.TestExposed",
		codes.TokenThrottled:     "test/e2e.TestExposed",

		// About who may come in.
		codes.RoleRefused:       "internal/auth.TestTenants",
		codes.ScopeRefused:      "test/e2e.TestAPITokens",
		codes.ScopeInsufficient: "internal/auth.TestAccessTokens",
		codes.TokenInURL:        "test/e2e.TestAPITokens",
		codes.TokenExpired:      "test/e2e.TestAPITokens",
		codes.TokenUnknown:      "test/e2e.TestAPITokens",
		codes.IssuerUnreachable: "internal/auth.TestKeysOfAnIssuer",
		codes.SameOriginNeeded:  "internal/face/login.TestLogin",
		codes.GrantRefused:      "test/e2e.TestTenantsApart",
		codes.HubwideRequired:   "test/e2e.TestTenantsApart",
		codes.TenantUnknown:     "test/e2e.TestAPITokens",
		codes.TenantExists:      "test/e2e.TestTenantsApart",
		codes.TenantInUse:       "test/e2e.TestTenantsApart",
		codes.LoginOff:          "internal/face/login.TestForgedLogins",
		codes.LoginFailed:       "internal/face/login.TestForgedLogins",
		codes.LoginForbidden:    "internal/face/login.TestForgedLogins",
		codes.LoginUnavailable:  "internal/face/login.TestProviderDown",

		// About the start.
		codes.ConfigInvalid:    "test/e2e.TestBrokenConfiguration",
		codes.ConfigUnreadable: "test/e2e.TestCommandReasons",
		codes.ListenRefused:    "test/e2e.TestCommandReasons",
		codes.ListenTaken:      "test/e2e.TestCommandReasons",
		codes.ListenInvalid:    "test/e2e.TestCommandReasons",
		codes.DataDirTaken:     "test/e2e.TestCommandReasons",
		codes.DataDirUnusable:  "test/e2e.TestCommandReasons",
		codes.TokenExposed:     "test/e2e.TestTokenFiles",
		codes.TokenUnusable:    "test/e2e.TestTokenFiles",
		codes.TLSUnusable:      "test/e2e.TestCommandReasons",
		codes.AllowHostInvalid: "test/e2e.TestCommandReasons",
		codes.SocketUnusable:   "test/e2e.TestTokenFiles",
		codes.ProxyInvalid:     "test/e2e.TestCommandReasons",
		codes.CAUnusable:       "test/e2e.TestCommandReasons",

		// About the configuration, and other programs' files.
		codes.PlaceholderUnresolved: "test/e2e.TestVSCodeFile",
		codes.SettingUnresolved:     "internal/config.TestStoreResolve",
		codes.ConfigStale:           "test/e2e.TestConfigurationInForce",
		codes.ConfigUnwritable:      "internal/config.TestFileUnwritable",
		codes.ClientUnknown:         "test/e2e.TestCommandReasons",
		codes.ImportKeyUnknown:      "test/e2e.TestCommandReasons",
		codes.ClientFileMissing:     "test/e2e.TestCommandReasons",
		codes.ClientNotConnectable:  "test/e2e.TestCommandReasons",
		codes.ClientNeedsProgram:    "test/e2e.TestCommandReasons",
		codes.BackupMissing:         "test/e2e.TestCommandReasons",

		// About what operators ask for.
		codes.ServerUnknown: "test/e2e.TestCommandReasons",
		codes.ServerExists:  "test/e2e.TestServerReasons",
		codes.ServerBuiltin: "test/e2e.TestCommandReasons",
		codes.PresetKept:    "internal/face/rest.TestCompatToggle",
		codes.PresetFixed:   "internal/face/rest.TestCompatPresetsStay",
		codes.EntryIgnored:  "test/e2e.TestServerReasons",
		codes.ConfigMissing: "internal/control.TestNoFile",
		codes.ConfigBroken:  "test/e2e.TestBrokenConfiguration",
		codes.ETagMissing:   "test/e2e.TestConfigurationInForce",
		codes.SecretUnknown: "test/e2e.TestCommandReasons",
		codes.SecretRefused: "internal/face/rest.TestSecrets",
		codes.AdminRequired: "test/e2e.TestChangesNeedTheAdministrator",
		codes.BodyInvalid:   "test/e2e.TestJSONTricks",
		codes.BodyTooBig:    "test/e2e.TestTooMuch",
		codes.BodyLate:      "internal/face/rest.TestSlowBodiesAndLongCalls",
		codes.PathUnknown:   "test/e2e.TestDoorReasons",
		codes.TestsBusy:     "internal/control.TestProbesAtOnce",
		codes.DriftStale:    "internal/face/rest.TestAcceptSeen",
		codes.LeaseUnknown:  "test/e2e.TestCommandReasons",
		codes.IndexInvalid:  "test/e2e.TestCommandReasons",

		// About the record of calls.
		codes.AuditUnwritable:      "internal/audit.TestUnwritable",
		codes.AuditUnreadable:      "internal/audit.TestUnwritable",
		codes.AuditJournalUnusable: "internal/audit.TestJournalBreaks",
		codes.AuditKeyUnusable:     "internal/audit.TestUnusableKeys",
		codes.AuditNodeTaken:       "internal/audit.TestNodeTaken",
		codes.AuditCursorUnknown:   "internal/audit.TestCursors",
		codes.AuditHeadInvalid:     "internal/audit.TestHead",
		codes.AuditExportInvalid:   "internal/audit.TestEveryByteOfAnExport",
		codes.AuditEntryChanged:    "internal/audit.TestTampered",
		codes.AuditEntryMissing:    "internal/audit.TestTampered",
		codes.AuditUnsigned:        "internal/audit.TestRewritten",
		codes.AuditTruncated:       "internal/audit.TestHead",
		codes.AuditHeadDiffers:     "internal/audit.TestHead",
		codes.AuditExportChanged:   "internal/audit.TestEveryByteOfAnExport",
		codes.AuditIndexWrong:      "internal/audit.TestTampered",
		codes.AuditFiguresWrong:    "internal/audit.TestTampered",
		codes.CallUnknown:          "internal/face/rest.TestWhoSeesTheRecord",

		// About the database.
		codes.StoreFull:        "internal/store.TestFull",
		codes.StoreBusy:        "internal/store.TestBusy",
		codes.StoreUnavailable: "internal/store.TestUnavailable",
		codes.StoreRefused:     "internal/store.TestRefused",
		codes.StoreCorrupt:     "internal/store.TestCorrupt",
		codes.StoreNewer:       "internal/store.TestNewer",
		codes.StoreURLInvalid:  "internal/store.TestPasswordIsNotTold",
		codes.StoreNotEmpty:    "internal/store.TestMove",
		codes.BackupInvalid:    "internal/store.TestSpoiltCopies",

		// About voice assistants and devices.
		codes.ApprovalSpoken:       "internal/call.TestSpokenApproval",
		codes.BackendAuth:          "internal/face/xiaozhi.TestBackendRefuses",
		codes.BackendNoHello:       "internal/face/xiaozhi.TestReq22HelloInTime",
		codes.BackendUndiscovered:  "internal/face/xiaozhi.TestReq22Discovery",
		codes.BackendTokenUnusable: "internal/face/xiaozhi.TestBackendRefuses",
		codes.BackendToolLong:      "internal/face/xiaozhi.TestReq24Pages",
		codes.CallLate:             "internal/call.TestLateForAll",
		codes.CallLateEqual:        "internal/face/broker.TestReq39BrokerLateCall",
		codes.CallLateStopped:      "internal/call.TestLateBound",
		codes.DeviceAliasTaken:     "internal/face/rest.TestDeviceCallIsTheDevices",
		codes.DeviceDropped:        "internal/face/device.TestRequirement30SilentDevice",
		codes.DeviceNameless:       "internal/face/device.TestRequirement28OTA",
		codes.DeviceOffline:        "internal/face/rest.TestDeviceCallIsTheDevices",
		codes.DeviceRefused:        "internal/face/device.TestRequirement38Picture",
		codes.RelayUnreachable:     "internal/face/device.TestReq39RelayNotReached",
		codes.DeviceReplaced:       "internal/face/device.TestRequirement33NewSocketWins",
		codes.DeviceSilent:         "internal/face/device.TestRequirement30SilentDevice",
		codes.DeviceWithoutMCP:     "internal/face/device.TestRequirement29Hello",
		codes.EndpointAuth:         "internal/face/xiaozhi.TestReq20Endings",
		codes.EndpointBusy:         "internal/face/xiaozhi.TestReq17NotBegunAfterTheEnd",
		codes.EndpointClosed:       "internal/face/xiaozhi.TestReq20Endings",
		codes.EndpointDuplicate:    "internal/face/xiaozhi.TestReq9OneSessionForEachAddress",
		codes.EndpointFailing:      "internal/face/xiaozhi.TestReq20Endings",
		codes.EndpointHTTPStatus:   "internal/face/xiaozhi.TestBackendRefuses",
		codes.EndpointListCut:      "internal/face/xiaozhi.TestReq14Limits",
		codes.EndpointLongList:     "internal/face/xiaozhi.TestReq14Limits",
		codes.EndpointLost:         "internal/face/xiaozhi.TestReq20Backoff",
		codes.EndpointManyTools:    "internal/face/xiaozhi.TestReq14Limits",
		codes.EndpointTooBig:       "internal/face/xiaozhi.TestReq4Limits",
		codes.EndpointReplacedBy:   "internal/face/xiaozhi.TestReq20Endings",
		codes.EndpointSilent:       "internal/face/xiaozhi.TestFollowsPing",
		codes.EndpointTokenEnded:   "internal/face/xiaozhi.TestReq21Status",
		codes.EndpointTokenEnds:    "internal/face/xiaozhi.TestReq21Status",
		codes.EndpointToolsMissing: "internal/face/xiaozhi.TestEndpointNeedsWhatComesLater",
		codes.EndpointUnreachable:  "internal/face/xiaozhi.TestReq7NoTokenAnywhere",
		codes.EndpointURLInvalid:   "internal/face/xiaozhi.TestPlaceholders",
		codes.PictureRefused:       "internal/face/device.TestRequirement38Picture",
		codes.PictureTooBig:        "internal/face/device.TestRequirement38Picture",
		codes.ResponseTooBig:       "internal/call.TestLateFailure",
		codes.TaskRuns:             "internal/face/xiaozhi.TestReq17StillRuns",
		codes.TaskUnknown:          "internal/call.TestLateOfAnotherTool",

		// About the command line.
		codes.HubUnreachable:    "test/e2e.TestCommandReasons",
		codes.HubAnswerUnusable: "internal/apiclient.TestUnusableAnswers",
		codes.HubURLInvalid:     "test/e2e.TestCommandReasons",
		codes.HubStartFailed:    "internal/cli.TestStdioWithoutAHub",
		codes.HubStillStarting:  "test/e2e.TestCommandReasons",
		codes.HubNotRunning:     "test/e2e.TestCommandReasons",
		codes.UsageInvalid:      "test/e2e.TestCommandReasons",
		codes.FileUnreadable:    "test/e2e.TestCommandReasons",
		codes.FileUnwritable:    "test/e2e.TestCommandReasons",
		codes.ArgumentInvalid:   "test/e2e.TestCommandReasons",
		codes.ArgumentType:      "test/e2e.TestCommandReasons",
		codes.CallTimeout:       "internal/cli.TestCallTimeout",
		codes.TestFailed:        "test/e2e.TestCommandReasons",
		codes.QuestionDeclined:  "internal/cli.TestTraceWithoutAPerson",
		codes.SecretMissing:     "test/e2e.TestCommandReasons",
	}
}

// TestEveryReason: there is no code that no test provokes.
func TestEveryReason(t *testing.T) {
	t.Parallel()
	names := constants(t)
	all := proofs()
	for _, code := range codes.Codes() {
		proof, ok := all[code]
		if !ok {
			t.Errorf("no test is known to provoke %q", code)
			continue
		}
		delete(all, code)
		body := testBody(t, proof)
		if !strings.Contains(body, strconv.Quote(string(code))) && !regexp.MustCompile(`\.`+names[code]+`\b`).MatchString(body) {
			t.Errorf("%s does not name %q, which it is said to provoke", proof, code)
		}
	}
	for code := range all {
		t.Errorf("there is no code %q any more", code)
	}
}

// constants are the names of the codes' constants.
func constants(t *testing.T) map[codes.Code]string {
	t.Helper()
	names := map[codes.Code]string{}
	paths, err := filepath.Glob(filepath.Join(rig.Root(), "internal", "message", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "Code" {
				return true // classes have some of the same words
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				if value, err := strconv.Unquote(lit.Value); err == nil {
					names[codes.Code(value)] = spec.Names[0].Name
				}
			}
			return true
		})
	}
	return names
}

// testBody is the text of a test, "" if it is not there.
func testBody(t *testing.T, proof string) string {
	t.Helper()
	dir, name, _ := strings.Cut(proof, ".")
	paths, err := filepath.Glob(filepath.Join(rig.Root(), filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text := read(t, path)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
				return text[files.Position(f.Pos()).Offset:files.Position(f.End()).Offset]
			}
		}
	}
	return ""
}

// said matches what a person is told of a code, whatever its values are.
func said(code codes.Code) *regexp.Regexp {
	what := regexp.QuoteMeta(codes.For(codes.English, code, nil).What)
	return regexp.MustCompile(`(?s)toolcrib: ` + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(what, ".*"))
}

// TestCommandReasons: what goes wrong with a command is told in the words of
// the catalogue, and with the exit code that goes with it.
func TestCommandReasons(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, `{"mcpServers": {"x": {"command": "true"}}}`, dir, "file.json")
	nowhere := filepath.Join(dir, "nowhere")
	slow := rig.WriteConfig(t, rig.Stdio("fault", rig.FaultServer(t)))
	busy := rig.StartHub(t)
	held, err := datadir.Open(filepath.Join(dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, test := range []struct {
		code    codes.Code
		exit    int
		command string
	}{
		{codes.UsageInvalid, 2, "server start"},
		{codes.ArgumentInvalid, 2, "call calculator__calculator not-a-pair"},
		{codes.ArgumentType, 2, "call device__set_brightness brightness=much"},
		{codes.FileUnreadable, 1, "import " + nowhere},
		{codes.FileUnwritable, 1, "backup " + file},
		{codes.HubNotRunning, 4, "status"},
		{codes.HubUnreachable, 4, "status --url http://127.0.0.1:1"},
		{codes.HubURLInvalid, 1, "status --url nonsense"},
		{codes.HubStillStarting, 4, "status --data-dir " + held.Path()},
		{codes.TestFailed, 1, "server add x -- no-such-command-anywhere"},
		{codes.SecretMissing, 1, "secret set x"},
		{codes.SecretUnknown, 1, "secret remove x"},
		{codes.ClientUnknown, 1, "connect nobody"},
		{codes.ClientNotConnectable, 1, "connect lumi"},
		{codes.ClientNeedsProgram, 1, "connect claude --url http://127.0.0.1:1"},
		{codes.ClientFileMissing, 1, "import --from claude"},
		{codes.BackupMissing, 1, "connect cursor --undo"},
		{codes.ImportKeyUnknown, 1, "import " + file + " --only none"},
		{codes.ServerUnknown, 1, "server show none"},
		{codes.ServerBuiltin, 1, "server remove calculator"},
		{codes.ToolUnknown, 1, "call none"},
		{codes.LeaseUnknown, 1, "lease release nobody --data-dir " + busy.DataDir},
		{codes.IndexInvalid, 1, "index import " + file},
		{codes.Timeout, 1, "call fault__sleep ms=60000 --timeout 2s --config " + slow},
		{codes.ConfigUnreadable, 1, "config check " + nowhere},
		{codes.CAUnusable, 1, "serve --listen none --ca-cert " + nowhere},
		{codes.ProxyInvalid, 1, "serve --listen none --proxy nonsense"},
		{codes.TLSUnusable, 1, "serve --listen none --tls-cert " + file + " --tls-key " + file},
		{codes.AllowHostInvalid, 1, "serve --listen none --allow-host *.example.com"},
		{codes.ListenInvalid, 1, "serve --listen 127.0.0.1"},
		{codes.ListenRefused, 1, "serve --listen 0.0.0.0:0"},
		{codes.ListenTaken, 1, "serve --listen " + strings.TrimPrefix(busy.URL, "http://")},
		{codes.DataDirTaken, 1, "serve --listen none --data-dir " + busy.DataDir},
		{codes.DataDirUnusable, 1, "serve --listen none --data-dir " + file},
	} {
		t.Run(string(test.code), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), rig.HubBinary(t), strings.Fields(test.command)...)
			cmd.Env = append(os.Environ(), rig.NewHome(t).Env...)
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != test.exit {
				t.Errorf("exit code %d (%v), want %d", code, err, test.exit)
			}
			if !said(test.code).Match(out) {
				t.Errorf("toolcrib %s said:\n%s", test.command, out)
			}
		})
	}
}

// TestServerReasons: what operators ask for in vain is told by the API.
func TestServerReasons(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t, rig.Stdio("well", rig.FaultServer(t)), rig.Stdio("off", "anything").With("enabled", false))
	hub.AwaitReady()
	client := hub.API()
	add := func(key, entry string) error {
		_, err := client.AddServer(t.Context(), api.ServerAdd{Key: key, Entry: []byte(entry)})
		return err
	}
	act := func(key, action string) error {
		_, err := client.ServerAction(t.Context(), key, action)
		return err
	}
	if err := act("well", api.ActionStop); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		code codes.Code
		err  error
	}{
		{codes.ServerExists, add("well", `{"command":"true"}`)},
		{codes.EntryIgnored, add("new", `{"type":"embedded"}`)},
		{codes.ServerDisabled, act("off", api.ActionStart)},
		{codes.ServerStopped, act("well", api.ActionRefresh)},
	} {
		if got := problemOf(test.err); got.Code != string(test.code) || got.Title == "" || got.Status < 400 {
			t.Errorf("got %v, want %s", test.err, test.code)
		}
	}
	m := connect(t, hub.MCP(), modernRevision).call("well__echo", map[string]any{"text": "x"})
	if m.Error.reason() != string(codes.ServerStopped) || !strings.Contains(m.Error.Message, "toolcrib server start well") {
		t.Errorf("a call to the stopped server was answered with %s", m)
	}
}

// TestDoorReasons: what nobody serves is refused in the way of the door that it
// was meant for.
func TestDoorReasons(t *testing.T) {
	t.Parallel()
	hub := rig.StartHub(t)
	g := atTCP(t, hub)
	for _, test := range []struct {
		status             int
		code, method, path string
	}{
		{http.StatusNotFound, "stream_unknown", http.MethodPost, "/messages?sessionId=none"},
		{http.StatusNotFound, "stream_unknown", http.MethodPost, "/messages"},
		{http.StatusMethodNotAllowed, "http_method_refused", http.MethodPost, "/sse"},
		{http.StatusMethodNotAllowed, "http_method_refused", http.MethodPatch, api.Base + "/servers"},
		{http.StatusMethodNotAllowed, "http_method_refused", http.MethodPut, "/mcp"},
		{http.StatusUpgradeRequired, "upgrade_required", http.MethodGet, "/ws/mcp"},
		{http.StatusNotFound, "path_unknown", http.MethodGet, "/nothing"},
		{http.StatusNotFound, "path_unknown", http.MethodGet, api.Base + "/nothing"},
		{http.StatusNotFound, "path_unknown", http.MethodGet, "/mcp/no/thing"},
		{http.StatusNotFound, "path_unknown", http.MethodPost, "/ws/nothing"},
	} {
		g.refused(test.status, test.code, test.method, test.path, map[string]string{"Content-Type": "application/json"}, "{}")
	}
	g.refused(http.StatusOK, "group_unknown", http.MethodPost, "/mcp/nothing", map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if r, err := g.knock(http.MethodGet, api.Base+"/nothing", map[string]string{"Accept-Language": "zh-CN,en;q=0.5"}, http.NoBody); err != nil ||
		r.header.Get("Content-Language") != "zh" || !strings.Contains(r.body, "没有内容") {
		t.Errorf("in Chinese: %+v, %v", r, err)
	}
}
