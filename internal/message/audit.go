package message

// About the record of calls.
const (
	AuditUnwritable      Code = "audit_unwritable"
	AuditUnreadable      Code = "audit_unreadable"
	AuditJournalUnusable Code = "audit_journal_unusable"
	AuditKeyUnusable     Code = "audit_key_unusable"
	AuditNodeTaken       Code = "audit_node_taken"
	AuditCursorUnknown   Code = "audit_cursor_unknown"
	AuditHeadInvalid     Code = "audit_head_invalid"
	AuditExportInvalid   Code = "audit_export_invalid"
	AuditEntryChanged    Code = "audit_entry_changed"
	AuditEntryMissing    Code = "audit_entry_missing"
	AuditUnsigned        Code = "audit_signature_wrong"
	AuditTruncated       Code = "audit_truncated"
	AuditHeadDiffers     Code = "audit_head_differs"
	AuditExportChanged   Code = "audit_export_changed"
	AuditIndexWrong      Code = "audit_index_wrong"
	AuditFiguresWrong    Code = "audit_figures_wrong"
	CallUnknown          Code = "call_unknown"
)

var auditTexts = texts{
	AuditUnwritable: {
		Text{"The call was not sent, because it could not be recorded: {reason}", "Calls that may change something are sent only once they are recorded. Try again when that is mended."},
		Text{"调用无法记录，因此没有发出：{reason}", "可能产生变更的调用须先记录再发出。请解决后重试。"},
	},
	AuditUnreadable: {
		Text{"The record of calls cannot be read: {reason}", ""},
		Text{"无法读取调用记录：{reason}", ""},
	},
	AuditJournalUnusable: {
		Text{"The journal of the record of calls, {path}, cannot be read or written.", "Check the disk and the rights of the data directory; the hub's log has the cause."},
		Text{"调用记录的日志 {path} 无法读写。", "请检查磁盘以及数据目录的权限；原因见 Toolcrib 的日志。"},
	},
	AuditKeyUnusable: {
		Text{"The key of the record of calls, {path}, cannot be used: {detail}.", "Put back the key that was there, or remove the file: then a new chain is begun, and the former one can still be verified."},
		Text{"调用记录的密钥 {path} 无法使用：{detail}。", "请放回原来的密钥，或删除该文件：之后会开始一条新链，旧链仍可验证。"},
	},
	AuditNodeTaken: {
		Text{"Another hub writes the chain {node} of the record of calls.", "A data directory that was copied shares its chain with the original: remove keys/audit.key from the copy, and start it again."},
		Text{"另一个 Toolcrib 正在写调用记录链 {node}。", "复制的数据目录与原目录共用一条链：请删除副本中的 keys/audit.key 并重新启动。"},
	},
	AuditCursorUnknown: {
		Text{"The cursor is not one of the record of calls.", "Start again without a cursor."},
		Text{"游标不属于调用记录。", "请不带游标重新查询。"},
	},
	AuditHeadInvalid: {
		Text{"This is no head of a record of calls: {detail}.", "Give the file that \"toolcrib audit head\" wrote."},
		Text{"这不是调用记录的链头：{detail}。", "请提供 toolcrib audit head 写出的文件。"},
	},
	AuditExportInvalid: {
		Text{"Line {line} of the export is none of an export: {detail}.", "Give the file that was exported as JSONL."},
		Text{"导出文件第 {line} 行不是导出内容：{detail}。", "请提供以 JSONL 导出的文件。"},
	},
	AuditEntryChanged: {
		Text{"Entry {seq} of chain {node} was changed: what stands in it does not match its hash.", ""},
		Text{"链 {node} 的第 {seq} 条记录被改动：内容与哈希不符。", ""},
	},
	AuditEntryMissing: {
		Text{"In chain {node}, entries {first} to {last} are missing.", ""},
		Text{"链 {node} 缺少第 {first} 至 {last} 条记录。", ""},
	},
	AuditUnsigned: {
		Text{"Entry {seq} of chain {node} does not bear the signature of the chain's key: the entries before it may have been written anew by somebody else.", ""},
		Text{"链 {node} 的第 {seq} 条记录没有该链密钥的有效签名：之前的记录可能被他人重写。", ""},
	},
	AuditTruncated: {
		Text{"Chain {node} ends with entry {last}, but it had {seq} entries when the head was exported: the end was cut off.", ""},
		Text{"链 {node} 止于第 {last} 条记录，但导出链头时已有 {seq} 条：末尾被截去。", ""},
	},
	AuditHeadDiffers: {
		Text{"Entry {seq} of chain {node} is not the one that the head was exported with: the chain was written anew.", ""},
		Text{"链 {node} 的第 {seq} 条记录与导出的链头不符：该链被重写。", ""},
	},
	AuditExportChanged: {
		Text{"The export as a whole is not what was written: {detail}.", ""},
		Text{"导出文件整体与写出时不符：{detail}。", ""},
	},
	AuditIndexWrong: {
		Text{"What makes queries fast does not match entries {first} to {last} of chain {node}: queries may leave out some of them. The entries themselves are what the chain says.", ""},
		Text{"链 {node} 第 {first} 至 {last} 条记录的查询索引不符：查询可能遗漏其中部分。记录本身以链为准。", ""},
	},
	AuditFiguresWrong: {
		Text{"The figures of the hour {hour} in chain {node} are not those of its entries. The entries themselves are what the chain says.", ""},
		Text{"链 {node} 在 {hour} 这一小时的统计与记录不符。记录本身以链为准。", ""},
	},
	CallUnknown: {
		Text{"The record has no call {call}.", "The calls and their ids are listed by: toolcrib calls --json"},
		Text{"调用记录中没有调用 {call}。", "查看调用及其编号：toolcrib calls --json"},
	},
}
