package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// tool is a program of which the first words say what it does.
type tool struct {
	valued string // options that have a value of their own
	does   map[string]hub.Risk
	// otherwise judges words that are not in the list: by what they mean as
	// verbs, if it is not set.
	otherwise hub.Risk
}

// aliases are programs that take the same words as others.
var aliases = map[string]string{
	"podman": "docker", "nerdctl": "docker", "oc": "kubectl", "k": "kubectl", "microk8s.kubectl": "kubectl", "yarn": "npm", "pnpm": "npm", "bun": "npm", "deno": "npm",
	"pip3": "pip", "pipx": "pip", "uv": "pip", "poetry": "pip", "pipenv": "pip", "conda": "pip", "mamba": "pip", "gem": "pip", "bundle": "pip", "composer": "pip", "rye": "pip", "pdm": "pip", "hatch": "pip",
	"apt-get": "apt", "aptitude": "apt", "yum": "apt", "dnf": "apt", "zypper": "apt", "apk": "apt", "snap": "apt", "flatpak": "apt", "brew": "apt", "port": "apt", "apt-cache": "apt", "rpm-ostree": "apt", "nix-env": "apt", "apt-mark": "apt", "pkg": "apt", "emerge": "apt",
	"tofu": "terraform", "mvn": "gradle", "mvnw": "gradle", "gradlew": "gradle", "sbt": "gradle", "ant": "gradle", "lein": "gradle", "mix": "gradle", "stack": "gradle", "cabal": "gradle", "bazel": "gradle", "bazelisk": "gradle", "dotnet": "gradle", "swift": "gradle", "xcodebuild": "gradle", "flutter": "gradle", "dart": "gradle", "zig": "gradle",
	"hg": "git", "svn": "git", "jj": "git", "glab": "gh", "aws": "gh", "gcloud": "gh", "az": "gh", "doctl": "gh", "heroku": "gh", "flyctl": "gh", "fly": "gh", "vercel": "gh", "netlify": "gh", "oci": "gh", "hcloud": "gh", "ibmcloud": "gh", "gsutil": "gh", "eksctl": "gh", "openstack": "gh", "wrangler": "gh", "supabase": "gh", "firebase": "gh", "stripe": "gh", "vault": "gh", "consul": "gh", "nomad": "gh", "minikube": "gh", "kind": "gh", "k3d": "gh", "argocd": "gh", "flux": "gh", "istioctl": "gh", "linode-cli": "gh", "pulumi": "terraform", "s3cmd": "gh", "mc": "gh", "virsh": "gh", "lxc": "gh", "incus": "gh", "multipass": "gh", "velero": "gh", "kubeadm": "gh", "bq": "gh", "op": "gh", "bw": "gh", "pm2": "gh", "crictl": "docker", "ctr": "docker", "skopeo": "gh", "cosign": "gh", "rabbitmqctl": "gh", "etcdctl": "gh", "pm": "gh", "railway": "gh", "render": "gh", "code-insiders": "gh", "ollama": "gh", "dvc": "gh", "kafka-topics": "gh", "kafka-topics.sh": "gh", "nix": "gh", "proxmox": "gh", "qm": "gh", "pct": "gh", "rustup": "gh", "nvm": "gh", "pyenv": "gh", "asdf": "gh", "mise": "gh", "rbenv": "gh", "volta": "gh", "sdk": "gh", "fnm": "gh", "direnv": "gh", "kubectx": "gh", "kubens": "gh", "alembic": "gh", "rails": "gh", "flask": "gh", "prisma": "gh", "artisan": "gh", "drush": "gh", "wp": "gh", "certtool": "gh", "step": "gh", "tailscale": "gh", "zerotier-cli": "gh", "dpkg": "dpkg", "rpm": "dpkg", "pacman": "dpkg", "yay": "dpkg", "paru": "dpkg", "helmfile": "helm", "cdk": "gh", "serverless": "gh", "sls": "gh", "nats": "gh", "rclone": "backup", "restic": "backup", "borg": "backup", "vagrant": "backup",
}

var tools = map[string]tool{
	"git": {"-C -c --git-dir --work-tree --namespace --exec-path --repository -R", table(map[hub.Risk]string{
		hub.RiskLow: `status log show diff blame annotate ls-files ls-tree ls-remote rev-parse rev-list describe shortlog grep cat-file name-rev
			for-each-ref merge-base whatchanged show-ref show-branch var help version count-objects fsck range-diff cherry reflog reflog_show
			branch_-a branch_-r branch_-v branch_-vv branch_--list branch_--show-current branch_--all branch config tag_-l tag_--list tag remote_-v
			remote_show remote_get-url remote config_--get config_--list config_-l config_--get-all config_get config_list stash_list
			stash_show worktree_list submodule_status notes_show bisect_log check-ignore check-attr diff-tree diff-index verify-commit
			verify-tag info cat identify id summary heads lfs_ls-files sparse-checkout_list bundle_verify request-pull interpret-trailers`,
		hub.RiskMedium: `add commit fetch init stash stash_push stash_save checkout switch worktree_add archive format-patch stage checkout_-b switch_-c
			bundle_create restore_--staged lfs_fetch`,
		hub.RiskHigh: `clone pull push merge rebase cherry-pick revert am apply restore rm mv remote_add remote_set-url remote_remove remote_rm
			remote_rename remote_prune submodule gc prune bisect notes replace update-ref symbolic-ref maintenance reset checkout_-- checkout_.
			stash_pop stash_apply sparse-checkout commit_--amend worktree_remove worktree_prune hash-object fast-import send-email svn p4 lfs
			update-index read-tree write-tree difftool mergetool gui citool instaweb daemon ci up update co cleanup import credential
			tag_-f branch_-m branch_-M branch_-f filter bundle submodule_update switch_-f switch_--discard-changes`,
		hub.RiskCritical: `clean filter-branch filter-repo push_--force push_-f push_--mirror push_--delete push_--force-with-lease reset_--hard
			branch_-D branch_-d branch_--delete tag_-d tag_--delete stash_drop stash_clear reflog_expire reflog_delete checkout_-f
			checkout_--force push_-d restore_. worktree_remove_--force update-ref_-d rm_-r rm_-rf rm_-f gc_--prune=now bisect_run submodule_foreach`,
	}), hub.RiskHigh},
	"docker": {"-H --host --context -c --config -l --log-level -f --file -p --project-name --namespace -n", table(map[hub.Risk]string{
		hub.RiskLow: `ps images logs inspect stats top version info history port diff events search image_ls image_inspect image_history container_ls
			container_ps container_logs container_inspect container_stats container_top volume_ls volume_inspect network_ls network_inspect system_df
			images_ls images_list
			system_info system_events compose_ps compose_logs compose_config compose_ls compose_images compose_top compose_version compose_events
			context_ls context_show context_inspect buildx_ls node_ls service_ls service_ps service_logs stack_ls stack_ps manifest_inspect
			container_port container_diff plugin_ls secret_ls config_ls buildx_du scout_quickview scout_cves machine_list image_list container_list buildx_inspect`,
		hub.RiskMedium:   `build pull exec compose_exec container_exec buildx_build image_build image_pull compose_build compose_pull scout compose_convert wait tag`,
		hub.RiskHigh:     `run create start restart unpause push commit cp save load import export login logout attach rename update compose swarm service stack context secret config plugin trust container_start compose_up compose_start compose_restart network_create volume_create stop pause compose_stop container_stop compose_run`,
		hub.RiskCritical: `rm rmi kill prune image_rm image_prune container_rm container_prune container_kill volume_rm volume_prune network_rm network_prune system_prune compose_down compose_rm compose_kill builder_prune stack_rm service_rm swarm_leave secret_rm config_rm node_rm buildx_prune buildx_rm network_disconnect machine_rm volume_remove container_remove images_rm images_remove images_delete images_prune containers_rm containers_delete tasks_kill tasks_rm snapshots_rm`,
	}), hub.RiskHigh},
	"kubectl": {"-n --namespace --context --kubeconfig --cluster --user -s --server --as -l -o", table(map[hub.Risk]string{
		hub.RiskLow: `get describe logs top explain api-resources api-versions cluster-info version config_view config_current-context config_get-contexts
			config_get-clusters rollout_status rollout_history auth_can-i auth_whoami events wait options plugin_list completion status projects project whoami`,
		hub.RiskMedium:   `diff kustomize exec`,
		hub.RiskHigh:     `apply create edit patch scale autoscale rollout label annotate set cordon uncordon taint expose run cp port-forward proxy attach debug auth config certificate adm login new-app replace`,
		hub.RiskCritical: `delete drain rollout_undo adm_drain replace_--force taint_nodes delete-collection config_delete-context`,
	}), hub.RiskHigh},
	"npm": {"-C --prefix --filter -F --cwd -w --workspace --dir", table(map[hub.Risk]string{
		hub.RiskLow: `ls list la ll outdated view info show why explain help root prefix bin config_get config_list config_ls get search ping
			whoami audit fund doctor query pack_--dry-run licenses versions repo docs bugs home completion check-updates`,
		hub.RiskMedium: `test t tst run_build run_test run_lint run_typecheck run_type-check run_check run_format run_fmt run_dev run_coverage run_test:unit
			run_compile run_watch run_docs run_bench run_unit run_e2e run_ci run_storybook run_types run_tsc run_validate run_preview lint build check fmt format dev bench
			coverage typecheck run_format:check run_lint:fix run_test:watch run_test:coverage run_test:ci run_build:prod run_test:e2e run_generate doc pack`,
		hub.RiskHigh:     `install i ci add update up upgrade link run run-script start restart stop exec x dlx create init publish login logout adduser config set dedupe rebuild prune audit_fix version patch token owner access team dist-tag stage serve task import`,
		hub.RiskCritical: `uninstall remove rm un unlink unpublish deprecate cache_clean run_clean run_deploy run_release hook run_db:reset owner_rm`,
	}), hub.RiskHigh},
	"pip": {"--python -p -r --index-url -i", table(map[hub.Risk]string{
		hub.RiskLow:      `list show freeze check search config_list config_get cache_list cache_dir help inspect debug hash index info env env_list outdated tree version dependency environment which contents specification why licenses depends diagnose validate about status fund`,
		hub.RiskMedium:   `pip_list lock pip_freeze build wheel test run_pytest run_black run_ruff run_mypy run_test exec_rspec exec_rubocop venv tool_list pip_show pip_compile pip_tree python_list run_flake8`,
		hub.RiskHigh:     `install add update upgrade download sync inject shell run exec publish require create config cache init self env_use upload push pip_install pip_sync activate pristine global reinstall`,
		hub.RiskCritical: `uninstall remove env_remove pip_uninstall cache_purge clean purge yank uninstall-all cleanup unpublish`,
	}), hub.RiskHigh},
	"apt": {"-o -c -t", table(map[hub.Risk]string{
		hub.RiskLow:      `list show search policy depends rdepends showpkg madison info outdated doctor config deps desc leaves provides repolist history check-update changelog check home uses stats version versions find connections whatprovides repoquery dotty pkgnames dump se lr group cat log commands formulae casks services_list tap-info --prefix --version`,
		hub.RiskMedium:   `update fetch makecache refresh simulate tap`,
		hub.RiskHigh:     `install upgrade dist-upgrade full-upgrade add localinstall reinstall build-dep download source mark hold unhold edit-sources in dup up set link unlink pin unpin switch services bundle run enable disable groupinstall distro-sync downgrade override connect`,
		hub.RiskCritical: `remove purge autoremove autopurge erase uninstall del delete clean autoclean cleanup rm untap autoclean zap disconnect`,
	}), hub.RiskHigh},
	"terraform": {"-chdir -C --cwd -s --stack", table(map[hub.Risk]string{
		hub.RiskLow:      `validate fmt show version providers graph state_list state_show workspace_list workspace_show help metadata whoami stack_ls config_get about`,
		hub.RiskMedium:   `plan output init get test console preview`,
		hub.RiskHigh:     `import taint untaint workspace_new workspace_select state_mv state_push refresh login logout force-unlock stack config new`,
		hub.RiskCritical: `apply destroy state_rm workspace_delete up down cancel`,
	}), hub.RiskHigh},
	"helm": {"-n --namespace --kube-context --kubeconfig -f", table(map[hub.Risk]string{
		hub.RiskLow:      `list ls status get history show search version env repo_list lint verify dependency_list plugin_list help inspect hist`,
		hub.RiskMedium:   `template pull dependency_build dependency_update repo_update diff package fetch`,
		hub.RiskHigh:     `install upgrade rollback repo push test registry plugin create apply sync`,
		hub.RiskCritical: `uninstall delete un del repo_remove destroy`,
	}), hub.RiskHigh},
	"go": {"-C", table(map[hub.Risk]string{
		hub.RiskLow:      `list env version doc help mod_graph mod_why mod_verify tool_nm tool_objdump bug tool_pprof tool_cover telemetry`,
		hub.RiskMedium:   `build test vet fmt fix mod_tidy mod_download mod_vendor run run_. mod_init work tool_compile`,
		hub.RiskHigh:     `get install generate mod tool work_use mod_edit env_-w`,
		hub.RiskCritical: `clean`,
	}), hub.RiskHigh},
	"cargo": {"--manifest-path -Z -C", table(map[hub.Risk]string{
		hub.RiskLow:      `tree metadata search version help verify-project pkgid locate-project info --list audit outdated geiger`,
		hub.RiskMedium:   `build check test bench clippy fmt doc run fetch rustc rustdoc b c t r d nextest new init generate-lockfile expand miri tarpaulin llvm-cov deny watch package`,
		hub.RiskHigh:     `install publish add update login logout owner vendor fix upgrade release`,
		hub.RiskCritical: `uninstall remove rm yank clean`,
	}), hub.RiskHigh},
	"gradle": {"-p -f -P -D --project -c --configuration -scheme -destination -target -sdk -project -workspace", table(map[hub.Risk]string{
		hub.RiskLow:      `tasks dependencies projects properties help dependency:tree help:effective-pom list --info --list-sdks --list-runtimes --version doctor devices info query cquery aquery versions:display-dependency-updates -list -version -showsdks deps sln_list nuget_list`,
		hub.RiskMedium:   `build test compile package verify check assemble test-compile jar bootJar compileJava compileTestJava format credo dialyzer new analyze lint spotlessCheck checkstyle site validate bootRun spring-boot:run watch restore pack build-exe testDebugUnitTest assembleDebug assembleRelease bench --no-daemon`,
		hub.RiskHigh:     `deploy publish install release run upload exec publishToMavenLocal add get upgrade update ecto.migrate phx.server tool pub mod nuget workload ef sln`,
		hub.RiskCritical: `clean cleanup ecto.drop ecto.reset expunge uninstall ef_database_drop remove uninstallAll`,
	}), hub.RiskHigh},
	"backup": {"-r --repo -p --password-file -c --config --lock-wait", table(map[hub.Risk]string{
		hub.RiskLow: `ls lsd lsl lsf lsjson list info diff check size tree version about cat stats find snapshots status global-status ssh-config
			validate listremotes help md5sum sha1sum key_list box_list plugin_list snapshot_list`,
		hub.RiskHigh: `copy copyto sync bisync move moveto mount serve backup restore extract create init up ssh reload resume suspend halt
			rcat dedupe key tag recover repair rebuild-index unlock recreate`,
		hub.RiskCritical: `delete deletefile purge rmdir rmdirs cleanup forget prune rewrite destroy compact move_--delete key_remove box_remove snapshot_delete`,
	}), hub.RiskHigh},
	"dpkg": {"--root --dbpath", nil, hub.RiskHigh},
	"gh":   {"--region --profile --output --query --project --zone --format -R --repo -n --name -g --resource-group --subscription --account --limit -L -o --bucket --location -c --cluster --namespace -a --app --endpoint-url --filter --filters", nil, hub.RiskHigh},
}

// tool judges a program by the words that say what it does.
func (s *shell) tool(program string, args []arg) bool {
	name := program
	if alias, ok := aliases[program]; ok {
		name = alias
	}
	if program == "npx" || program == "bunx" || program == "pnpx" || program == "uvx" {
		return s.fetched(program, args[1:])
	}
	t, ok := tools[name]
	if !ok {
		return false
	}
	if version(args) {
		return true
	}
	if name == "dpkg" {
		return s.packages(program, args[1:])
	}
	words, options := skip(args[1:], t.valued)
	for i, o := range options { // git -c alias.x='!cmd'
		if name == "git" && (o.text == "-c" && i+1 < len(options) && containsAny(strings.ToLower(options[i+1].text), "pager", "editor", "alias", "ssh", "hook", "fsmonitor", "diff", "helper", "filter", "proxy", "askpass", "program", "!") || strings.HasPrefix(o.text, "--exec-path=") || strings.HasPrefix(o.text, "--config-env")) {
			s.f.add(hub.RiskCritical, "execute", "an option of \"%s\" starts a program", program)
		}
	}
	if len(words) == 0 {
		if name == "npm" && program == "yarn" {
			s.f.add(hub.RiskHigh, "write", "\"%s\" changes something", program)
		}
		if name == "gradle" {
			s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
		}
		return true
	}
	cleans := name == "git" && words[0].text == "clean"
	_, known := t.does[words[0].text]
	script := name == "npm" && program != "npm" && !known // which gets all that follows
	if cleans && cleansNothing(words[1:]) || !cleans && !script && pretends(words, valuedAfter[name]) {
		s.f.add(hub.RiskMedium, "", "\"%s\" adds something, or asks the network", program)
		return true
	}
	if !words[0].fixed {
		s.f.hide(hub.RiskHigh, "execute", "what is run is put together only when it is run")
		return true
	}
	risk, said := s.does(t, words)
	risk = max(risk, s.more(name, program, words))
	switch {
	case risk >= hub.RiskCritical:
		s.f.add(risk, "destroy", "\"%s\" changes something", program+" "+said)
	case risk >= hub.RiskHigh:
		s.f.add(risk, "write", "\"%s\" changes something", program+" "+said)
	case risk == hub.RiskMedium:
		s.f.add(risk, "", "\"%s\" adds something, or asks the network", program+" "+said)
	}
	return true
}

// does looks the words up: the first two, or the first with each of its options.
func (s *shell) does(t tool, words []arg) (hub.Risk, string) {
	first := words[0].text
	risk, known := t.does[first]
	said := first
	for i, a := range words[1:] {
		if i > 0 && !a.flag() && i > 1 {
			continue
		}
		if two, ok := t.does[first+"_"+a.text]; ok && (i == 0 || a.flag()) {
			if i == 0 && !a.flag() || a.flag() && two < hub.RiskHigh && i == 0 {
				risk, known, said = two, true, first+" "+a.text
			} else if two > risk || !known {
				risk, known, said = two, true, first+" "+a.text
			}
		}
	}
	if known {
		return risk, shorten(said)
	}
	return s.meant(words, t.otherwise)
}

// meant judges words by what they mean: "compute instances delete".
func (s *shell) meant(words []arg, otherwise hub.Risk) (hub.Risk, string) {
	risk, found, said := hub.RiskLow, false, ""
	if words[0].text == "api" {
		return hub.RiskLow, "api"
	}
	for i, a := range words {
		if i == 5 {
			break
		}
		lower := strings.ToLower(a.text)
		if containsAny(lower, "secret", "token", "password", "credential", "private-key") && !a.flag() {
			s.f.add(hub.RiskHigh, "secret", "\"%s\" shows passwords or keys", shorten(join(words[:i+1])))
		}
		if a.flag() || strings.ContainsAny(a.text, "/.=@") || found && i > 3 {
			continue
		}
		switch lower {
		case "ls", "ps", "ll", "whoami", "cat", "config", "versions", "-v", "du", "members", "routes", "snapshots", "metadata":
			found, said = true, a.text
			continue
		case "rb", "rm", "del", "down":
			risk, found, said = hub.RiskCritical, true, a.text
			continue
		case "cp", "mv", "mb", "up", "ssh", "put":
			risk, found, said = max(risk, hub.RiskHigh), true, a.text
			continue
		}
		if first, ok := lexicon[lower]; i == 0 && ok && first.noun > 0 && len(words) > 1 && !words[1].flag() && verbLike(words[1].text) {
			continue // "run view": what is looked at
		}
		if does := verbWord(lower); does.word != "" && (!does.weak || does.sort == reads) && (!found || does.sort == acts && does.noun == 0) {
			risk, found, said = max(risk, pick(does.sort == neutral, hub.RiskMedium, does.risk)), true, a.text
		}
	}
	if !found {
		return otherwise, shorten(join(words[:min(len(words), 2)]))
	}
	return risk, shorten(said)
}

// verbWord is what a word of a command says, also as "checks".
func verbWord(word string) said {
	does := named(word)
	if does.word == "" {
		if v, f, ok := lookUp(word); ok && f == third && v.sort == reads {
			does.take(v, word)
		}
	}
	return does
}

func verbLike(word string) bool {
	does := verbWord(word)
	return does.word != "" || word == "ls" || word == "rm"
}

// fetched judges programs that are fetched and run.
func (s *shell) fetched(program string, rest []arg) bool {
	words := skipAll(rest, "-p --package -c --call --from --with")
	if len(words) > 0 {
		if risk, ok := harmless[words[0].text]; ok && !has(rest, "-c", "--call", "-y", "--yes") {
			s.f.add(max(risk, hub.RiskMedium), "", "\"%s\" adds something, or asks the network", program+" "+words[0].text)
			return true
		}
	}
	s.f.add(hub.RiskHigh, "execute", "it fetches a program and runs it")
	return true
}

// packages judges managers of packages that are told by options what to do.
func (s *shell) packages(program string, rest []arg) bool {
	looks := has(rest, "-l", "-L", "-s", "-S", "--list", "--status", "--listfiles", "--search", "-qa", "-qi", "-ql", "-qf", "-q", "--query", "--print-architecture", "--get-selections", "-V", "--verify", "--audit", "-C", "-qR", "-c", "-I")
	if program == "pacman" || program == "yay" || program == "paru" {
		looks = hasPrefix(rest, "-Q") || hasPrefix(rest, "-F") || hasPrefix(rest, "-Ss") || hasPrefix(rest, "-Si")
	}
	if looks {
		return true
	}
	removes := hasPrefix(rest, "-R") || has(rest, "-r", "-P", "-e", "--remove", "--purge", "--erase")
	s.f.add(pick(removes, hub.RiskCritical, hub.RiskHigh), pick(removes, "destroy", "write"), "\"%s\" changes something", program)
	return true
}
