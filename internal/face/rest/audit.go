package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/audit"
	"github.com/toolcrib/toolcrib/internal/hub"
	"github.com/toolcrib/toolcrib/internal/message"
)

type (
	headOutput   struct{ Body api.AuditHead }
	verifyInput  struct{ Body *api.AuditHead }
	verifyOutput struct{ Body api.AuditReport }
	exportInput  struct {
		Format string `query:"format" enum:"jsonl,csv" default:"jsonl" doc:"jsonl: every entry, to be verified; csv: a line for each call"`
		RecordFilter
	}
)

// audit registers what proves that the record is what was written.
func (d *Door) audit() {
	add(d, operation{
		id: "getAuditHead", method: http.MethodGet, path: "/audit/head", group: aboutRecord, summary: "Where the record ends now, signed",
		about: "Kept elsewhere, it proves later that nothing before it was cut off or written anew.",
		needs: hub.MayManage, hubwide: true, errors: []int{http.StatusServiceUnavailable},
	}, func(ctx context.Context, _ *struct{}) (*headOutput, error) {
		h, err := d.opt.Audit.Head(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &headOutput{Body: api.AuditHead(*h)}, nil
	})
	add(d, operation{
		id: "verifyAudit", method: http.MethodPost, path: "/audit/verify", group: aboutRecord, summary: "Say whether the record is what was written",
		about: "Reads all of it. The body, which may be left out, is a head that was kept. That something is wrong is no error of the request.",
		needs: hub.MayManage, hubwide: true, reads: true, limit: 1, errors: []int{http.StatusServiceUnavailable},
		example: map[string]any{
			"node": "k7ymwgqg3sjxnu2e", "seq": 5120, "hash": "0c2a…", "time": "2026-01-31T08:00:00Z", "key": "aGVhZA==", "signature": "c2lnbmVk",
		},
	}, d.verifyAudit)
	add(d, operation{
		id: "exportAudit", method: http.MethodGet, path: "/audit/export", group: aboutRecord, summary: "The record, the oldest first",
		about: "With jsonl, entries as they are in the database and a signed last line, of which every change is found. " +
			"With csv, the calls that have ended. An export that could not be finished is cut off. " +
			"A tenant's administrator gets what is on record of the tenant.",
		needs: hub.MayManage, errors: []int{http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}, d.exportAudit)
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	d.api.OpenAPI().Paths["/audit/export"].Get.Responses["200"] = &huma.Response{
		Description: "The export", Content: map[string]*huma.MediaType{exportKind(api.ExportJSONL): text, exportKind(api.ExportCSV): text},
	}
}

// exportKind is the media type of an export.
func exportKind(format string) string {
	if format == api.ExportCSV {
		return "text/csv; charset=utf-8"
	}
	return "application/jsonl"
}

func (d *Door) verifyAudit(ctx context.Context, in *verifyInput) (*verifyOutput, error) {
	var head *audit.Head
	if in.Body != nil {
		raw, err := json.Marshal(in.Body)
		if err != nil {
			return nil, failed(hub.E(message.Internal, err))
		}
		if head, err = audit.ParseHead(raw); err != nil {
			return nil, failed(err)
		}
	}
	report, err := d.opt.Audit.Verify(ctx, head)
	if err != nil {
		return nil, failed(err)
	}
	return &verifyOutput{report.View(lang(ctx))}, nil
}

func (d *Door) exportAudit(ctx context.Context, in *exportInput) (*streamOutput, error) {
	f, err := in.filter(ctx, time.Now())
	if err != nil {
		return nil, failed(err)
	}
	return &streamOutput{func(c huma.Context) {
		w := newDownload(c, exportKind(in.Format), "toolcrib-calls."+in.Format)
		switch err := d.opt.Audit.Export(ctx, w, audit.Format(in.Format), f); {
		case err == nil:
			w.begin() // also if nothing was written
		case !w.begun:
			refuse(c, Status(hub.AsError(err).Code), err)
		default:
			// The connection is cut off: whoever has read so far must not take it for
			// the whole.
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// download writes a file to a client, who is given up if he does not read.
type download struct {
	http   huma.Context
	writer http.ResponseWriter
	ctl    *http.ResponseController
	kind   string
	name   string
	begun  bool
}

func newDownload(c huma.Context, kind, name string) *download {
	_, w := humago.Unwrap(c)
	return &download{http: c, writer: w, ctl: http.NewResponseController(w), kind: kind, name: name}
}

// begin sends what stands before the file, once.
func (d *download) begin() {
	if d.begun {
		return
	}
	d.begun = true
	d.http.SetHeader("Content-Type", d.kind)
	d.http.SetHeader("Content-Disposition", `attachment; filename="`+d.name+`"`)
	d.http.SetHeader("Cache-Control", "no-store")
	d.http.SetStatus(http.StatusOK)
}

// Write implements [io.Writer].
func (d *download) Write(b []byte) (int, error) {
	d.begin()
	_ = d.ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // not every writer can
	return d.writer.Write(b)
}
