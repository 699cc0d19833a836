package risk

import (
	"strings"

	"github.com/DataDog/go-sqllexer"

	"github.com/toolcrib/toolcrib/internal/hub"
)

// maxNested is how often one thing may stand within another: SQL in a comment
// that is none, a command line in a command line.
const maxNested = 8

// judgeSQL judges statements in SQL, of whatever dialect: it is known of no
// database which one it speaks. Words count wherever they stand outside of texts
// and comments, since a statement can be part of another, and since some dialects
// need no semicolon between two. What is a comment or a text in one dialect only
// is looked at as well.
func judgeSQL(f *findings, text string, depth int) {
	if depth > maxNested || len(text) > maxText {
		f.hide(hub.RiskHigh, "sql", "the SQL cannot be read to its end")
		return
	}
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "\\") || strings.HasPrefix(s, ".") {
		judgeClientCommand(f, s)
		return
	}
	s := sqlStatement{f: f}
	dialect := strings.ContainsAny(text, "\\`#[")
	statements := 0
	for lexer := sqllexer.New(text); ; {
		token := lexer.Scan()
		value := token.Value
		switch token.Type {
		case sqllexer.EOF:
			s.end()
			if dialect {
				judgeBlindly(f, text)
			}
			return
		case sqllexer.ERROR, sqllexer.INCOMPLETE_STRING:
			f.hide(hub.RiskHigh, "sql", "the SQL cannot be read to its end")
			judgeBlindly(f, text)
			if token.Type == sqllexer.ERROR {
				s.end()
				return
			}
		case sqllexer.SPACE, sqllexer.STRING, sqllexer.NUMBER, sqllexer.DOLLAR_QUOTED_STRING:
			if token.Type != sqllexer.SPACE {
				s.other = true
			}
			continue
		case sqllexer.COMMENT:
			if strings.HasPrefix(value, "--") && len(value) > 2 && value[2] > ' ' {
				var inside findings
				judgeSQL(&inside, value[2:], depth+1) // no comment in MySQL
				if inside.risk >= hub.RiskHigh && !startsProse(value[2:]) {
					f.join(&inside)
				}
			}
			continue
		case sqllexer.MULTILINE_COMMENT:
			if code, ok := executableComment(value); ok {
				s.end()
				judgeSQL(f, code, depth+1)
				f.add(hub.RiskHigh, "sql", "a comment in the SQL is none for some databases")
			}
			continue
		case sqllexer.DOLLAR_QUOTED_FUNCTION:
			judgeSQL(f, strings.Trim(value, "$func"), depth+1)
			continue
		}
		if value == ";" {
			s.end()
			if statements++; statements > maxMembers {
				f.hide(hub.RiskHigh, "sql", "the SQL cannot be read to its end")
				return
			}
			continue
		}
		if token.Type == sqllexer.QUOTED_IDENT {
			s.quoted(value)
			continue
		}
		s.word(value)
	}
}

// startsProse reports whether a comment that is one in most databases begins as
// a sentence does and not as a statement.
func startsProse(text string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	_, ok := sqlStatements[strings.ToUpper(first)]
	return !ok && !strings.Contains(text, ";")
}

// executableComment returns what MySQL and MariaDB carry out of a comment.
func executableComment(comment string) (string, bool) {
	inner := strings.TrimSuffix(strings.TrimPrefix(comment, "/*"), "*/")
	rest, ok := strings.CutPrefix(inner, "!")
	if !ok {
		rest, ok = strings.CutPrefix(inner, "M!")
	}
	return strings.TrimLeft(rest, "0123456789"), ok
}

// startsSQL reports whether a text begins as a statement does.
func startsSQL(text string) bool {
	first := strings.TrimLeft(text, " \t\r\n(")
	end := strings.IndexAny(first, " \t\r\n(;*")
	if end <= 0 || end > 12 {
		return false
	}
	_, ok := sqlStatements[strings.ToUpper(first[:end])]
	return ok
}

// sqlStatement is one statement while it is read.
type sqlStatement struct {
	f      *findings
	words  int
	first  string
	before string // the word or mark before
	other  bool   // there is something besides words

	deletes, updates, where bool
	depth, at               int  // how deep in parentheses the statement is, and where it changes something
	condition               bool // what stands after WHERE names something
	into, copies, pragma    bool
}

// end judges what can only be judged of a statement as a whole.
func (s *sqlStatement) end() {
	switch {
	case s.words == 0 && s.other:
		s.f.hide(hub.RiskHigh, "sql", "the SQL cannot be read to its end")
	case s.deletes && !(s.where && s.condition):
		s.f.add(hub.RiskCritical, "destroy", "the SQL deletes all rows of a table")
	case s.updates && !(s.where && s.condition):
		s.f.add(hub.RiskCritical, "destroy", "the SQL changes all rows of a table")
	case s.deletes || s.updates:
		s.f.add(hub.RiskHigh, "write", "the SQL changes data")
	}
	if s.words > 0 {
		s.f.add(hub.RiskLow, "sql", "the SQL only reads")
	}
	*s = sqlStatement{f: s.f}
}

// quoted takes a name that stands in quotes, and is no word of the language.
func (s *sqlStatement) quoted(value string) {
	if s.words++; s.words == 1 {
		s.f.hide(hub.RiskHigh, "sql", "the SQL cannot be read to its end")
	}
	name := strings.ToUpper(strings.Trim(value, "\"`[]"))
	s.effect(name[strings.LastIndexByte(name, '.')+1:])
	s.condition = s.condition || s.where
	s.before = "\""
}

// word takes the next word or mark.
func (s *sqlStatement) word(value string) {
	word := strings.ToUpper(strings.Trim(value, "\"`[]"))
	if word == "" {
		s.before = value
		return
	}
	if s.words++; s.words == 1 {
		if word == "(" {
			s.words--
			return
		}
		s.opening(word)
	}
	if s.where && !s.condition {
		c := word[0]
		s.condition = (c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80) && word != "TRUE" && word != "AND" && word != "OR" && word != "NOT" && word != "IS"
	}
	s.inside(word)
	if dot := strings.LastIndexByte(word, '.'); dot >= 0 {
		s.effect(word[dot+1:])
		s.effect(word)
	} else {
		s.effect(word)
	}
	s.before = word
}

// opening judges the word that a statement begins with.
func (s *sqlStatement) opening(word string) {
	s.first = word
	risk, ok := sqlStatements[word]
	switch {
	case !ok:
		s.f.hide(hub.RiskHigh, "sql", "the SQL begins with \"%s\", which is not known here", word[:min(len(word), 40)])
	case risk == hub.RiskCritical:
		s.f.add(risk, "destroy", "the SQL says \"%s\"", word)
	case risk == hub.RiskHigh:
		s.f.add(risk, "write", "the SQL says \"%s\"", word)
	case risk == hub.RiskMedium:
		s.f.add(risk, "", "the SQL says \"%s\"", word)
	}
}

// inside judges a word by the one before it.
func (s *sqlStatement) inside(word string) {
	before, opening := s.before, s.words == 1
	switch word {
	case "(":
		s.depth++
	case ")":
		s.depth--
	case "WHERE":
		s.where = s.where || s.depth <= s.at
	case "FROM":
		if before == "DELETE" {
			s.deletes, s.at = true, s.depth
		}
		if s.copies {
			s.f.add(hub.RiskHigh, "write", "the SQL says \"%s\"", "COPY FROM")
		}
	case "DELETE":
		s.deletes = s.deletes || opening
	case "UPDATE":
		switch before {
		case "FOR", "ON", "KEY", "DO", "BEFORE", "AFTER", "OR", "GRANT", ",":
		default:
			if s.first != "MERGE" {
				s.updates, s.where, s.at = true, false, s.depth
			}
		}
	case "COPY":
		s.copies = opening
	case "PROGRAM", "OUTFILE", "DUMPFILE":
		s.f.add(hub.RiskCritical, "execute", "the SQL writes a file of the database's machine, or runs a program there")
	case "PRAGMA":
		s.pragma = opening
	case "=":
		if s.pragma {
			s.f.add(hub.RiskHigh, "write", "the SQL says \"%s\"", "PRAGMA")
		}
	case "WRITABLE_SCHEMA":
		s.f.add(hub.RiskCritical, "destroy", "the SQL says \"%s\"", word)
	case "GLOBAL", "PERSIST", "PASSWORD", "ROLE", "AUTHORIZATION":
		if before == "SET" {
			s.f.add(hub.RiskCritical, "write", "the SQL says \"%s\"", "SET "+word)
		}
	case "USER", "LOGIN", "FUNCTION", "PROCEDURE", "TRIGGER", "EXTENSION", "EVENT", "LANGUAGE", "SERVER", "ASSEMBLY":
		if s.first == "CREATE" && s.words < 8 {
			s.f.add(hub.RiskCritical, "execute", "the SQL says \"%s\"", "CREATE "+word)
		}
	}
	if opening {
		return
	}
	// A statement in another, or behind it without a semicolon.
	switch before {
	case "INSERT", "MERGE", "REPLACE":
		if word == "INTO" || word == "OVERWRITE" || word == "IGNORE" {
			s.f.add(hub.RiskHigh, "write", "the SQL says \"%s\"", before)
			s.into = true
		}
	case "DROP", "TRUNCATE", "ALTER", "CREATE":
		switch word {
		case "TABLE", "DATABASE", "SCHEMA", "VIEW", "INDEX", "COLUMN", "USER", "ROLE", "FUNCTION", "PROCEDURE", "TRIGGER", "LOGIN",
			"SEQUENCE", "TYPE", "EXTENSION", "IF", "CONSTRAINT", "PARTITION", "SYSTEM", "SERVER", "EVENT", "MATERIALIZED":
			switch {
			case before == "CREATE" && s.first == "SHOW" && s.words == 3: // how it was made
			case before == "CREATE":
				s.f.add(hub.RiskHigh, "write", "the SQL says \"%s\"", before)
			default:
				s.f.add(hub.RiskCritical, "destroy", "the SQL says \"%s\"", before)
			}
		}
	case "EXEC", "EXECUTE":
		if word != "(" && word != "ON" && s.first != "GRANT" && s.first != "CREATE" {
			s.f.add(hub.RiskCritical, "execute", "the SQL says \"%s\"", before)
		}
	case "INTO":
		if s.first == "SELECT" && !s.into || s.first == "WITH" && !s.into {
			s.f.add(hub.RiskHigh, "write", "the SQL says \"%s\"", "SELECT INTO")
		}
	case "SHUTDOWN", "RECONFIGURE":
		s.f.add(hub.RiskCritical, "destroy", "the SQL says \"%s\"", before)
	}
	if word == "SHUTDOWN" || word == "RECONFIGURE" {
		s.f.add(hub.RiskCritical, "destroy", "the SQL says \"%s\"", word)
	}
}

// effect notes names of functions and tables that matter whatever is done with
// them.
func (s *sqlStatement) effect(name string) {
	if risk, ok := sqlNames[name]; ok {
		s.f.add(risk, "execute", "the SQL names \"%s\", which reaches beyond the data", strings.ToLower(name))
		return
	}
	for _, prefix := range [...]string{"XP_", "SP_OA", "UTL_", "DBMS_", "SYS_EXEC", "SYS_EVAL", "LO_"} {
		if strings.HasPrefix(name, prefix) && len(name) > len(prefix) {
			s.f.add(hub.RiskCritical, "execute", "the SQL names \"%s\", which reaches beyond the data", strings.ToLower(name[:min(len(name), 60)]))
			return
		}
	}
}

// judgeBlindly looks for statements as if nothing were quoted or commented: what
// is quoted for one database is not for another.
func judgeBlindly(f *findings, text string) {
	rest := text
	for {
		_, after, found := strings.Cut(rest, ";")
		if !found {
			return
		}
		rest = after
		first := strings.TrimLeft(after, " \t\r\n'\"`)(")
		if end := strings.IndexAny(first, " \t\r\n(;"); end > 0 && end < 12 {
			if risk, ok := sqlStatements[strings.ToUpper(first[:end])]; ok && risk >= hub.RiskHigh {
				f.hide(hub.RiskHigh, "sql", "what is quoted in the SQL is a statement for some databases")
				return
			}
		}
	}
}

// judgeClientCommand judges a command of a client program, such as "\d" of psql
// or ".tables" of sqlite3.
func judgeClientCommand(f *findings, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		switch {
		case line == "":
		case word == ".tables" || word == ".schema" || word == ".databases" || word == ".indexes" || word == ".indices" ||
			word == ".help" || word == ".headers" || word == ".mode" || word == ".width" || word == ".dump" || word == ".show" ||
			strings.HasPrefix(word, "\\d") || strings.HasPrefix(word, "\\l") && !strings.HasPrefix(word, "\\lo") ||
			word == "\\conninfo" || word == "\\timing" || word == "\\x" || word == "\\z" || word == "\\q" || word == "\\?":
		case strings.HasPrefix(word, "\\!") || word == ".shell" || word == ".system" || word == ".load" || word == "\\copy" || word == "\\o" || word == "\\g":
			f.add(hub.RiskCritical, "execute", "the SQL writes a file of the database's machine, or runs a program there")
		case word[0] == '.' || word[0] == '\\':
			f.hide(hub.RiskHigh, "sql", "the SQL begins with \"%s\", which is not known here", word[:min(len(word), 40)])
		default:
			judgeSQL(f, line, 1)
		}
	}
}

// sqlStatements has the words that statements begin with, and how grave they are
// whatever follows.
var sqlStatements = table(map[hub.Risk]string{
	hub.RiskLow: `SELECT WITH VALUES SHOW DESCRIBE DESC EXPLAIN PRAGMA USE TABLE FROM PRINT HELP`,
	hub.RiskMedium: `BEGIN START COMMIT ROLLBACK SAVEPOINT RELEASE END SET ANALYZE LISTEN UNLISTEN CHECK CHECKSUM CHECKPOINT
			DELETE UPDATE FETCH CLOSE DEALLOCATE COPY ABORT GO SUMMARIZE`,
	hub.RiskHigh: `INSERT REPLACE MERGE UPSERT CREATE LOAD IMPORT EXPORT CALL COMMENT LOCK UNLOCK VACUUM REINDEX OPTIMIZE CLUSTER
			REFRESH REPAIR RENAME NOTIFY HANDLER PREPARE DECLARE IF WHILE BULK UNLOAD DBCC BACKUP CACHE UNCACHE MSCK PUT INSTALL
			UNDROP SIGNAL`,
	hub.RiskCritical: `DROP TRUNCATE ALTER GRANT REVOKE DENY EXEC EXECUTE DO ATTACH DETACH KILL SHUTDOWN RESTORE RESET PURGE FLUSH
			REASSIGN DISCARD SECURITY RECONFIGURE REMOVE UNINSTALL CHANGE STOP`,
})

// sqlNames are functions that do more than read rows, and tables of passwords.
var sqlNames = table(map[hub.Risk]string{
	hub.RiskMedium: `PG_SLEEP SLEEP BENCHMARK WAITFOR PG_ADVISORY_LOCK`,
	hub.RiskHigh: `PG_LS_DIR PG_STAT_FILE SET_CONFIG SETVAL NEXTVAL PG_CANCEL_BACKEND PG_RELOAD_CONF PG_ROTATE_LOGFILE PG_SHADOW PG_AUTHID
			MYSQL.USER QUERY_TO_XML DATABASE_TO_XML TABLE_TO_XML CURSOR_TO_XML TS_STAT READFILE READ_CSV READ_TEXT READ_BLOB READ_PARQUET
			READ_JSON PG_LS_LOGDIR PG_LS_WALDIR PG_SWITCH_WAL GET_LOCK SYS.SQL_LOGINS PG_USER_MAPPINGS READ_CSV_AUTO SYSLOGINS PG_NOTIFY`,
	hub.RiskCritical: `PG_READ_FILE PG_READ_BINARY_FILE PG_FILE_WRITE PG_EXECUTE_SERVER_PROGRAM DBLINK DBLINK_EXEC DBLINK_CONNECT DBLINK_SEND_QUERY PG_TERMINATE_BACKEND LOAD_FILE
			SP_CONFIGURE SP_EXECUTESQL SP_EXECUTE_EXTERNAL_SCRIPT SP_ADDSRVROLEMEMBER OPENROWSET OPENDATASOURCE OPENQUERY LOAD_EXTENSION
			WRITEFILE FTS3_TOKENIZER JAVA_METHOD REFLECT PG_PROMOTE SHELL_EXEC SP_START_JOB SP_ADD_JOB PG_LOGICAL_EMIT_MESSAGE`,
})
