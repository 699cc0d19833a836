package risk

import (
	"strings"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// sort is what kind of verb a word is.
type sort uint8

const (
	none    sort = iota
	reads        // it only looks
	neutral      // it makes something of what it is given, or one cannot tell
	acts         // it changes something
)

// verb is what a word does to the world where it is used as a verb.
type verb struct {
	risk hub.Risk
	sort sort
	// noun says how often the word is no verb: 0 hardly ever, 1 behind another
	// verb ("get_workflow_run"), 2 more often than not ("command_history").
	noun uint8
	// runs is true for verbs that say nothing but that what is given is carried
	// out: how bad that is, the arguments tell.
	runs bool
	tag  string
}

// The words, by what they do. The first of each group are those of the risk
// levels that Toolcrib was asked for, the others mean the same or are as grave.
const (
	destroying = `delete remove truncate destroy purge wipe erase obliterate kill uninstall terminate revoke rm rmdir del
		unlink expunge shutdown reboot poweroff overwrite forget decommission deprovision annihilate nuke shred prune
		unregister unpublish destruct cleanup`
	destroyingAtTimes = `drop flush format`
	running           = `execute exec eval evaluate spawn invoke`
	runningAtTimes    = `run`
	runningSeldom     = `shell command bash terminal powershell cmd ssh`
	paying            = `pay buy purchase withdraw sell donate remit impersonate`
	payingAtTimes     = `transfer refund charge trade bid bet deposit checkout payout`
	payingSeldom      = `payment transaction order invoice`

	changing = `write modify create insert add send rename replace publish deploy install assign unassign submit approve
		reject enable disable configure append prepend restore unarchive unlock unmute unblock subscribe unsubscribe
		unstar unfollow react apply sync save register reserve deny attach detach connect disconnect unmount click drag
		swipe rotate reload mutate mint activate deactivate increment decrement prioritize reprioritize prioritise unpin
		compose notify dial emit dismiss upsert override inject escalate promote demote migrate provision suspend define
		persist acknowledge ack confirm accept decline finish snooze upvote downvote rebase squash quarantine scaffold
		init initialize initialise bootstrap rebuild bind resize roll turn clear reset discard drain cordon uncordon evict
		ban unban kick clean close cancel redeploy reinstall rerun reopen resend reassign relabel ingest populate
		synchronize store merge regenerate relocate encrypt sign deregister adjust alter amend convene enqueue dequeue
		upgrade downgrade undo redo unset hide unhide retweet retire expire freeze unfreeze defrost arm disarm
		commission pair unpair undeploy mkdir touch chmod chown tweet reprocess reindex remap unsnooze
		unshare reboard onboard offboard authorize deauthorize authenticate login logout signup`
	changingAtTimes = `update edit patch put post upload set move start stop restart push fork toggle change copy clone
		duplicate import archive lock mute block star follow reply mark scale rollout rollback trigger dispatch invite share
		grant mount press fill tap control manage handle swap broadcast call forward transition launch boot resume pause
		power split join vote complete expose switch dim brighten transact flip fire stake burn draw
		like delegate patching writing publishing deposit lend borrow hire`
	changingSeldom = `commit comment schedule book link type request label tag pin draft email mail message sms record
		place bulk mutation place compose booking reservation`

	listing        = `fetch crawl scrape browse navigate enumerate collect visit grep glob`
	listingAtTimes = `list search query download export capture select scan`

	looking = `get read describe show find lookup look inspect examine retrieve explain summarize summarise calculate
		compute validate verify preview ping whoami exists see detect recommend suggest predict estimate analyze analyse
		diagnose troubleshoot identify measure lint display discover obtain peek classify understand parse check compare
		monitor count wait think provide return tell gather wonder locate view recall remind`
	lookingAtTimes = `forecast review watch track is has can`
	lookingSeldom  = `status info information stat stats head diff tree help audit history details detail trace overview
		summary top logs log weather time date version versions readonly metrics schema health`

	making = `generate render extract convert translate resolve listen embed transcribe simulate transform sample compile
		encode decode decrypt load open play print screenshot test build process report work use perform do plan refresh answer`
)

// lexicon has what each word does.
var lexicon = func() map[string]verb {
	all := make(map[string]verb, 600)
	add := func(words string, v verb) {
		for word := range strings.FieldsSeq(words) {
			if _, there := all[word]; !there {
				all[word] = v
			}
		}
	}
	const low, medium, high, critical = hub.RiskLow, hub.RiskMedium, hub.RiskHigh, hub.RiskCritical
	add(destroying, verb{critical, acts, 0, false, "destroy"})
	add(destroyingAtTimes, verb{critical, acts, 1, false, "destroy"})
	add(running, verb{critical, acts, 0, true, "execute"})
	add(runningAtTimes, verb{critical, acts, 1, true, "execute"})
	add(runningSeldom, verb{critical, acts, 2, true, "execute"})
	add(paying, verb{critical, acts, 0, false, "payment"})
	add(payingAtTimes, verb{critical, acts, 1, false, "payment"})
	add(payingSeldom, verb{critical, acts, 2, false, "payment"})
	add(changing, verb{high, acts, 0, false, "write"})
	add(changingAtTimes, verb{high, acts, 1, false, "write"})
	add(changingSeldom, verb{high, acts, 2, false, "write"})
	add(listing, verb{medium, reads, 0, false, ""})
	add(listingAtTimes, verb{medium, reads, 1, false, ""})
	add(looking, verb{low, reads, 0, false, ""})
	add(lookingAtTimes, verb{low, reads, 1, false, ""})
	add(lookingSeldom, verb{low, reads, 2, false, ""})
	add(making, verb{medium, neutral, 1, false, ""})
	return all
}()

// chinese are verbs as they stand in descriptions, where nothing sets words
// apart. Of those that begin at one place the first counts.
var chinese = []struct {
	word string
	verb verb
}{
	{"重命名", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"删除", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"刪除", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"移除", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"清空", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"清除", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"销毁", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"卸载", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"格式化", verb{hub.RiskCritical, acts, 1, false, "destroy"}},
	{"终止", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"关机", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"撤销", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"注销", verb{hub.RiskCritical, acts, 0, false, "destroy"}},
	{"执行", verb{hub.RiskCritical, acts, 1, true, "execute"}},
	{"運行", verb{hub.RiskCritical, acts, 1, true, "execute"}},
	{"运行", verb{hub.RiskCritical, acts, 1, true, "execute"}},
	{"调用", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"转账", verb{hub.RiskCritical, acts, 0, false, "payment"}},
	{"支付", verb{hub.RiskCritical, acts, 1, false, "payment"}},
	{"付款", verb{hub.RiskCritical, acts, 0, false, "payment"}},
	{"购买", verb{hub.RiskCritical, acts, 0, false, "payment"}},
	{"退款", verb{hub.RiskCritical, acts, 1, false, "payment"}},
	{"下单", verb{hub.RiskCritical, acts, 0, false, "payment"}},
	{"充值", verb{hub.RiskCritical, acts, 1, false, "payment"}},
	{"提现", verb{hub.RiskCritical, acts, 1, false, "payment"}},
	{"写入", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"更新", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"修改", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"创建", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"新建", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"新增", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"添加", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"插入", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"编辑", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"上传", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"发送", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"发布", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"设置", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"设定", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"移动", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"替换", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"合并", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"关闭", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"打开", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"开启", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"启动", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"停止", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"重启", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"重置", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"部署", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"安装", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"控制", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"保存", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"提交", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"取消", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"启用", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"禁用", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"预订", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"调整", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"管理", verb{hub.RiskHigh, acts, 1, false, "write"}},
	{"切换", verb{hub.RiskHigh, acts, 0, false, "write"}},
	{"列出", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"搜索", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"搜尋", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"查询", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"查詢", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"下载", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"抓取", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"检索", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"导出", verb{hub.RiskMedium, reads, 0, false, ""}},
	{"获取", verb{hub.RiskLow, reads, 0, false, ""}},
	{"取得", verb{hub.RiskLow, reads, 0, false, ""}},
	{"读取", verb{hub.RiskLow, reads, 0, false, ""}},
	{"查看", verb{hub.RiskLow, reads, 0, false, ""}},
	{"显示", verb{hub.RiskLow, reads, 0, false, ""}},
	{"返回", verb{hub.RiskLow, reads, 0, false, ""}},
	{"查找", verb{hub.RiskLow, reads, 0, false, ""}},
	{"计算", verb{hub.RiskLow, reads, 0, false, ""}},
	{"检查", verb{hub.RiskLow, reads, 0, false, ""}},
	{"分析", verb{hub.RiskLow, reads, 0, false, ""}},
	{"统计", verb{hub.RiskLow, reads, 0, false, ""}},
}
