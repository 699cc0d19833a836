package message

// Class says of what kind an error is, for those who count errors and for
// people who want no more than one sentence.
type Class string

// The classes. Each code is of exactly one.
const (
	ClassNetwork     Class = "network"     // the way there: no connection, or no answer in time
	ClassPermission  Class = "permission"  // it is not allowed
	ClassUnavailable Class = "unavailable" // what was asked for is not there, or not now
	ClassParams      Class = "params"      // what was given is not what is needed
	ClassServer      Class = "server"      // the server failed
	ClassRequest     Class = "request"     // the caller's program does not keep to the protocol
	ClassQuestion    Class = "question"    // an answer of a person was needed, and none was had
	ClassCancelled   Class = "cancelled"   // the caller wanted it no more
	ClassLimit       Class = "limit"       // too much at once
	ClassOutcome     Class = "outcome"     // it may have taken effect, or not
	ClassConfig      Class = "config"      // a setting or the machine has to be mended first
	ClassInternal    Class = "internal"    // none of these: the hub failed, or its record is not in order
)

// Classes are all classes, in the order of their constants.
func Classes() []Class {
	return []Class{
		ClassNetwork, ClassPermission, ClassUnavailable, ClassParams, ClassServer, ClassRequest,
		ClassQuestion, ClassCancelled, ClassLimit, ClassOutcome, ClassConfig, ClassInternal,
	}
}

// classified has the codes of each class, those of an answer that a server gave
// among [ClassServer]: [ClassOfAnswer] and [ClassOfStatus] say more of these.
var classified = map[Class][]Code{
	ClassNetwork: {
		EndpointUnreachable, EndpointHTTPStatus, EndpointClosed, EndpointLost, EndpointFailing, EndpointSilent, BackendNoHello, BackendUndiscovered, CallLate, CallLateEqual,
		Timeout, CallTimeout, ServerSilent, ServerUnreachable, ServerIdle, ServerClosed, ServerCertificate, ServerUnhealthy,
		ServerReconnects, SessionLost, HubUnreachable, DeviceSilent, DeviceDropped, DeviceReplaced, RelayUnreachable,
	},
	ClassPermission: {
		EndpointAuth, BackendAuth, EndpointReplacedBy,
		ServerUnauthorized, ServerEndpoint, ToolChanged, AdminRequired, HostRefused, OriginRefused, TokenRequired,
		TokenRefused, LinkRefused, ServerBuiltin, PresetKept, PresetFixed, UpstreamLoginNeeded, UpstreamScopeNeeded, UpstreamLoginFailed, PolicyDenied, ApprovalRejected, ApprovalOwn, ApprovalSecond, RoleRefused,
		ScopeRefused, ScopeInsufficient, TokenInURL, TokenExpired, DeviceRefused, SameOriginNeeded, GrantRefused, HubwideRequired, LoginForbidden,
	},
	ClassUnavailable: {
		TaskRuns, TaskUnknown, EndpointUnknown, BackendUnknown, EndpointIdle,
		ToolUnknown, ToolLike, ResourceUnknown, ResultGone, PromptUnknown, GroupUnknown, NotOffered, ServerUnknown,
		ServerDisabled, ServerStopped, ServerDown, ServerBroken, ServerNotRestarted, ServerExited, ServerCrashLoop,
		ShuttingDown, AllFailed, CallRetried, StoreBusy, StoreUnavailable, AuditUnwritable, AuditUnreadable, AuditJournalUnusable, CallUnknown,
		SecretUnknown, LeaseUnknown, PathUnknown, HubStartFailed, HubStillStarting, HubNotRunning,
		BackupMissing, ClientFileMissing, ApprovalUnknown, GrantUnknown, TokenUnknown, TenantUnknown, IssuerUnreachable, LoginOff, LoginUnavailable, DeviceOffline, DeviceUnknown, DeviceWithoutMCP,
	},
	ClassParams: {
		UpstreamLoginUnused, UpstreamLoginUnknown,
		ArgumentsInvalid, StateNotFailed, StateUnderWay, StateNotKept, AuditCursorUnknown, AuditHeadInvalid,
		AuditExportInvalid, BackupInvalid, ParamsInvalid, ApprovalStale, CallOvertaken, ApprovalForeign, ApprovalDecided, ApprovalConfirm, ApprovalChanged, ApprovalTaken, ApprovalInvalid, GrantInvalid, TenantExists, TenantInUse, LoginFailed, CursorUnknown, BodyInvalid, ServerExists, EntryIgnored,
		ConfigStale, ETagMissing, SecretRefused, SecretMissing, DriftStale, IndexInvalid, ImportKeyUnknown, ClientUnknown,
		ClientNotConnectable, ClientNeedsProgram, HubURLInvalid, UsageInvalid, ArgumentInvalid, ArgumentType, StoreNotEmpty, DeviceNameless, PictureRefused,
	},
	ClassServer: {
		ServerNotMCP, ServerProtocol, ServerHTTPStatus, ServerReplyTooBig, ServerBadReply, ServerRefused, ServerFallback,
		HubAnswerUnusable, TestFailed,
	},
	ClassRequest: {
		MethodUnknown, MessageMalformed, MessageInvalid, SessionUnknown, SessionMissing, VersionUnsupported, HeaderMismatch,
		MetaMissing, AcceptRefused, TypeRefused, BatchRefused, HTTPMethodRefused, NotInitialized, StreamUnknown,
		UpgradeRequired, EventUnknown, BodyLate,
	},
	ClassQuestion:  {ApprovalSpoken, ApprovalUndecided, NotAskable, QuestionForeign, QuestionUnasked, QuestionExpired, QuestionDeclined, ApprovalPending, ApprovalExpired, ApprovalCancelled, ApprovalWaits, ApprovalQuestion, ApprovalYes, ApprovalNo},
	ClassCancelled: {Cancelled},
	ClassLimit: {
		EndpointTooBig, EndpointManyTools, EndpointLongList, EndpointListCut, BackendToolLong, EndpointBusy, ResponseTooBig,
		UpstreamLoginBusy, UpstreamLoginsFull, Limited, QueueFull, QueueExpired, CallWaits, StateExhausted, TooManySessions, QuestionTooMany, CallersTooMany,
		SubscriptionsTooMany, MessageTooBig, BodyTooBig, ResultKept, TokenThrottled, TestsBusy, ApprovalsFull, PictureTooBig,
	},
	ClassOutcome: {CallLateStopped, OutcomeUnknown, HubLost},
	ClassConfig: {
		EndpointURLInvalid, BackendTokenUnusable, EndpointDuplicate, EndpointTokenEnds, EndpointTokenEnded, EndpointToolsMissing,
		UpstreamLoginNowhere,
		SettingUnresolved, StoreFull, StoreRefused, StoreCorrupt, StoreNewer, StoreURLInvalid, AuditKeyUnusable,
		AuditNodeTaken, CommandNotFound, CommandUnusable, NodeMissing, UvMissing, SandboxMissing, SandboxUnusable,
		PlaceholderUnresolved, ConfigInvalid, ConfigUnreadable, ConfigUnwritable, ConfigMissing, ConfigBroken, ListenRefused,
		ListenTaken, ListenInvalid, DataDirTaken, DataDirUnusable, TokenExposed, TokenUnusable, TLSUnusable,
		AllowHostInvalid, SocketUnusable, ProxyInvalid, CAUnusable, DeviceAliasTaken, FileUnreadable, FileUnwritable,
	},
	ClassInternal: {
		Internal, AuditEntryChanged, AuditEntryMissing, AuditUnsigned, AuditTruncated, AuditHeadDiffers, AuditExportChanged,
		AuditIndexWrong, AuditFiguresWrong,
	},
}

// classes has the class of each code.
var classes = turn(classified)

func turn(by map[Class][]Code) map[Code]Class {
	all := make(map[Code]Class, len(catalogue))
	for class, codes := range by {
		for _, code := range codes {
			all[code] = class
		}
	}
	return all
}

// ClassOf returns the class of a code, [ClassInternal] for one that is not
// known.
func ClassOf(code Code) Class {
	if class, ok := classes[code]; ok {
		return class
	}
	return ClassInternal
}
