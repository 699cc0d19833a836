package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// harmless are commands that take nothing away whatever they are given, unless
// it is told otherwise where single commands are judged. Those of medium risk add
// something new, ask the network, or build and test what is there.
var harmless = table(map[hub.Risk]string{
	hub.RiskLow: `ls dir vdir ll la cat bat less more most head tail tac nl wc sort uniq cut tr rev paste join column fold fmt expand unexpand
			comm cmp diff colordiff sdiff vimdiff od xxd hexdump hd strings file stat md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum
			cksum sum md5 shasum base64 base32 basenc jq yq xmllint xsltproc csvcut csvgrep csvlook csvstat tree exa eza lsd grep egrep fgrep rg ag
			ack zgrep zcat bzcat xzcat zless zdiff locate mlocate plocate pwd cd pushd popd dirs basename dirname realpath readlink which
			whereis type hash help man info apropos whatis tldr cal ncal bc dc expr factor seq shuf numfmt printf echo yes true false test [
			clear tput stty tty locale getent getconf ulimit umask lsattr getfacl namei mountpoint findmnt blkid fc-list pstree ps pgrep
			pidof top htop btop free df du duf ncdu uptime w who whoami id groups users last lastb lastlog uname arch lsb_release nproc lscpu lsblk lspci
			lsusb lsmod modinfo lshw dmidecode vmstat iostat mpstat sar pidstat netstat ss lsof arp ping6 jobs fg bg wait sleep read exit return
			shift break continue local declare typeset set unset getopts : let times caller shopt disown export sensors acpi upower loginctl
			nm objdump readelf ldd size addr2line c++filt look tsort ptx pr cloc scc tokei figlet cowsay fortune lolcat neofetch
			fastfetch screenfetch getcap getsebool sestatus getenforce aureport ausearch faillog nvidia-smi rocm-smi zipinfo lsns lsipc
			 pbpaste ifstat iftop nethogs iotop atop glances dstat slabtop systool hostid logname
			   pygmentize hexyl dust procs delta difft choose fx gron mdcat glow
			ver systeminfo tasklist ipconfig findstr where whoami getmac tracert pathping nbtstat chcp vol msinfo32 driverquery fc comp assoc ftype
			 sw_vers system_profiler vm_stat mdfind mdls otool lipo  `,
	hub.RiskMedium: `mkdir touch mktemp ping dig nslookup host whois traceroute tracepath mtr drill doggo env printenv history
			pytest py.test nose2 tox nox jest vitest mocha ava karma cypress playwright eslint tslint stylelint prettier tsc vue-tsc webpack vite
			rollup esbuild parcel swc babel ruff flake8 pylint mypy pyright black isort bandit yapf pyflakes pycodestyle golangci-lint
			staticcheck gofmt gofumpt goimports govulncheck shellcheck shfmt hadolint yamllint markdownlint rustfmt rustc clippy-driver gcc g++ cc
			c++ clang clang++ clang-format clang-tidy cppcheck ld as ar ranlib javac scalac kotlinc ghc ocamlc nasm cmake ninja meson autoconf
			automake phpunit phpstan psalm rspec rubocop minitest ctest gtest checkstyle ktlint detekt swiftlint xcpretty doxygen
			sphinx-build mkdocs hugo jekyll pandoc pdflatex xelatex latexmk tflint tfsec checkov trivy semgrep snyk gitleaks trufflehog
			zip say speedtest speedtest-cli pg_isready mysqlshow cscope ctags etags graphviz dot plantuml mermaid lint-staged biome
			oxlint turbo nx lerna protoc buf sqlfluff djlint codespell typos vulture radon hyperfine flamegraph cal xdpyinfo `,
})

// namesOnly are commands that do not show what is in the files that they are
// given.
var namesOnly = fields(`ls dir vdir ll la exa eza lsd tree stat file find du df cd pushd popd pwd basename dirname realpath readlink which
	whereis type echo printf test [ touch mkdir locate mktemp md5sum sha1sum sha256sum sha512sum : true false export set unset wc lsattr
	getfacl namei ps pgrep whoami id man help info read ping dig nslookup host whois traceroute mtr hash cal seq expr`)

// special are commands that are judged one by one, as far as a function of the
// same name would hide them.
var special = fields("sudo rm cp mv git docker kubectl ssh curl wget find sed awk tar chmod chown kill bash sh python node eval exec env xargs")

// harmful are commands that change something whatever they are given.
var harmful = table(map[hub.Risk]string{
	hub.RiskHigh: `mv rename mmv ln install rmdir split csplit patch ed ex vi vim nvim nano emacs pico joe micro code subl gedit
			scp sftp ftp lftp rcp chattr setfacl chage mount umount losetup modprobe insmod rmmod depmod swapon swapoff renice nc ncat netcat
			socat telnet nmap masscan tcpdump tshark wireshark hping3 arpspoof ettercap mail mailx sendmail mutt msmtp swaks wall write mesg
			at batch screen tmux alternatives update-alternatives ldconfig setsebool setenforce restorecon chcon auditctl
			semanage netplan wg wg-quick openvpn ifup ifdown dhclient wpa_supplicant rfkill tc ethtool brctl ovs-vsctl
			certbot acme.sh keytool update-grub grub-install grub-mkconfig dracut update-initramfs mkinitcpio dpkg-reconfigure debconf
			a2enmod a2dismod a2ensite nginx apachectl httpd caddy gunzip bunzip2 unxz uncompress unzip unrar gunicorn uvicorn rclone restic
			borg duplicity rsnapshot createdb createuser pg_restore pg_ctl pg_upgrade initdb mongorestore mongoimport mongoexport
			mysqlimport ansible ansible-playbook ansible-galaxy ansible-vault salt puppet chef chef-client vagrant packer mkfifo mknod
			 docker-machine twurl lpr lp lpadmin espeak notify-send wmctrl xdotool xset ydotool osascript automator
			defaults launchctl networksetup scutil pmset tmutil softwareupdate dscl spctl codesign xattr pluginkit htpasswd
			ssh-copy-id ssh-keygen gpg-agent pass keyctl secret-tool security aircrack-ng hashcat john hydra sqlmap nikto metasploit
			msfconsole msfvenom gobuster ffuf dirb wpscan responder chisel ngrok cloudflared frpc frps proxychains tor
			 newgrp sg script logger expect dialog whiptail fc-cache xclip pbcopy kexec nsenter unshare bwrap firejail
			 gdb lldb crash bpftrace bcc stap fstrim e2label tune2fs xfs_growfs resize2fs lvextend lvcreate vgcreate
			pvcreate mdadm zfs zpool btrfs quota setquota edquota ntpdate hwclock chronyc rdate setcap capsh convert mogrify
			ffmpeg youtube-dl yt-dlp aria2c axel uglifyjs sass postcss`,
	hub.RiskCritical: `rm unlink shred srm wipe truncate dd mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs
			cryptsetup lvremove vgremove pvremove lvreduce badblocks hdparm blkdiscard nvme reboot shutdown poweroff halt init telinit
			killall pkill killall5 skill xkill userdel groupdel deluser delgroup useradd adduser usermod groupadd groupmod addgroup passwd
			chpasswd visudo vipw vigr su iptables ip6tables nft ufw firewall-cmd ipset pfctl ebtables arptables dropdb dropuser
			mysqladmin deborphan debootstrap trash trash-empty bleachbit newfs diskutil rimraf srm
			pveum ipmitool crm pcs pacemaker fuser xmrig cpuminer stress-ng pwconv grpconv efibootmgr flashrom dcfldd
			testdisk ddrescue zerofree scrub sfill sswap sdmem`,
})

// table has the risk of each word. Of a word that stands in several lists the
// gravest counts.
func table(lists map[hub.Risk]string) map[string]hub.Risk {
	all := make(map[string]hub.Risk)
	for _, risk := range hub.Risks {
		for word := range strings.FieldsSeq(lists[risk]) {
			all[word] = risk
		}
	}
	return all
}

func fields(words string) map[string]bool {
	all := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}
