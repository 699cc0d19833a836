package risk

import "strings"

// valuedAfter are, by tool, the options behind its first word that have a value of
// their own, which may look like an option. What is an option without a value for
// some of the tool's words is not among them.
var valuedAfter = map[string]string{
	"git":       "-m --message -F --file -C --reuse-message -c --reedit-message --author --date --trailer --template -t --cleanup --pathspec-from-file -o --push-option --repo --receive-pack --exec -x --upload-pack --depth --shallow-since --shallow-exclude --server-option --negotiation-tip -j --jobs --strategy -X --strategy-option --rev --user --username --password --config-option --changelist",
	"docker":    "-t --tag --label --build-arg --filter --timeout --scale --env-file --project-directory --profile --ansi --parallel",
	"kubectl":   "-n --namespace --context --kubeconfig --cluster --user -s --server --as --token -l --selector --field-selector -o --output --template -f --filename -k --kustomize -p --patch --patch-file --type --field-manager --from-file --from-literal --image --grace-period --timeout -c --container --request-timeout --replicas --overrides",
	"npm":       "--prefix --filter --cwd -w --workspace --dir --tag --otp --registry --access --message --loglevel --userconfig --cache",
	"pip":       "--python -r --requirement -c --constraint -t --target --prefix --root --index-url -i --extra-index-url --find-links --only-binary --no-binary --log --cache-dir",
	"apt":       "-o --option -c --config-file -t --target-release --default-release",
	"helm":      "-n --namespace --kube-context --kubeconfig -f --values --set --set-string --set-file --set-json --version --repo --description --timeout -o --output --post-renderer",
	"cargo":     "--manifest-path -Z -C -p --package --features -F --target --target-dir --registry --index --token --version --jobs -j --path --git --branch --tag --rev --bin --profile --color --config",
	"gradle":    "-f -b --build-file --project-dir -c -x --exclude-task -g --gradle-user-home -I --init-script --tests --settings -pl --projects",
	"terraform": "-chdir -C --cwd --stack",
	"backup":    "-r --repo --password-file --config --lock-wait --exclude --include --filter --exclude-from --include-from --filter-from --files-from --tag --host --path --keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within --keep-tag --max-age --min-age --max-size --min-size --max-delete --log-file --log-level --transfers --checkers --backup-dir --suffix --bwlimit",
	"gh":        "--region --profile --output --query --project --zone --format -R --repo --name -g --resource-group --subscription --account --limit -L --bucket --location --cluster --namespace --app --endpoint-url --filter --filters --body -b --body-file --title -t --notes --message -m --field -F --raw-field --method -X --header -H --input --jq -q --template --command",
}

// pretends reports whether a tool is told only to explain itself, or to show what
// it would do. What is the value of an option, and what is passed on to another
// program, says nothing of that; what is said last counts.
func pretends(words []arg, valued string) bool {
	shows := false
	for i := 0; i < len(words); i++ {
		a := words[i]
		switch a.text {
		case "--dry-run", "--dry-run=client", "--dry-run=server", "--simulate":
			shows = a.fixed
		case "--no-dry-run", "--dry-run=none", "--dry-run=false", "--no-simulate", "--simulate=false":
			shows = false
		case "--help":
			if i == len(words)-1 && a.fixed {
				return true
			}
		case "--", "run", "exec", "x", "dlx", "run-script", "start", "tool", "foreach":
			return shows
		default:
			if takesNext(a, valued) {
				i++
			}
		}
	}
	return shows
}

// takesNext reports whether the next word is the value of an option: of one in the
// list, or of the last of several letters.
func takesNext(a arg, valued string) bool {
	if !a.flag() || a.text == "--" {
		return false
	}
	if hasField(valued, a.text) {
		return true
	}
	if a.text[1] == '-' {
		return false
	}
	for i := 1; i < len(a.text); i++ {
		if hasField(valued, "-"+a.text[i:i+1]) {
			return i == len(a.text)-1 // else the value is what follows
		}
	}
	return false
}

// cleansNothing reports whether "git clean" is told to show only what it would
// delete. What it reads as a pattern says nothing of that, and what is put together
// only when it is run may take it back.
func cleansNothing(words []arg) bool {
	shows := false
	for i := 0; i < len(words); i++ {
		a := words[i]
		pattern := false // the next word is one
		switch long, isLong := strings.CutPrefix(a.text, "--"); {
		case !a.fixed:
			return false
		case isLong && long == "":
			return shows
		case isLong && long == "help" && i == 0:
			return true
		case isLong && long == "dry-run":
			shows = true
		case isLong && strings.HasPrefix("exclude", long): // git takes the beginning of a name
			pattern = true
		case isLong && !hasField("force quiet interactive", long) && !strings.HasPrefix(long, "exclude="):
			return false
		case !isLong && a.flag():
			letters, attached, excludes := strings.Cut(a.text[1:], "e")
			if strings.Trim(letters, "dfinqxX") != "" {
				return false
			}
			shows = shows || strings.Contains(letters, "n")
			pattern = excludes && attached == ""
		}
		if pattern {
			if i++; i < len(words) && !words[i].fixed {
				return false
			}
		}
	}
	return shows
}
