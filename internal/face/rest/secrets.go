package rest

import (
	"context"
	"net/http"

	"github.com/toolcrib/toolcrib/internal/api"
	"github.com/toolcrib/toolcrib/internal/hub"
)

type (
	secretListOutput struct{ Body api.SecretList }
	nameInput        struct {
		Name string `path:"name" doc:"Name of the sealed value: letters, digits, dots, underscores and hyphens" pattern:"^[A-Za-z0-9._-]{1,128}$"`
	}
	secretInput struct {
		Name string `path:"name" doc:"Name of the sealed value: letters, digits, dots, underscores and hyphens" pattern:"^[A-Za-z0-9._-]{1,128}$"`
		Body api.SecretValue
	}
)

// secrets registers what is about sealed values. None is ever told.
func (d *Door) secrets() {
	const place = "/secrets/{name}"
	add(d, operation{
		id: "listSecrets", method: http.MethodGet, path: "/secrets", group: aboutSecrets, summary: "The names of the sealed values",
		needs: hub.MayManage, hubwide: true, errors: []int{http.StatusUnprocessableEntity},
	}, func(context.Context, *struct{}) (*secretListOutput, error) {
		all, err := d.opt.Control.Secrets()
		if err != nil {
			return nil, failed(err)
		}
		out := &secretListOutput{api.SecretList{Secrets: []api.Secret{}}}
		for _, s := range all {
			out.Body.Secrets = append(out.Body.Secrets, api.Secret{Name: s.Name, Set: s.Set, Used: some(s.Used)})
		}
		return out, nil
	})
	add(d, operation{
		id: "setSecret", method: http.MethodPut, path: place, group: aboutSecrets, summary: "Seal a value",
		about: "Servers that refer to it as `${secret:NAME}` get it the next time they are connected.",
		needs: hub.MayManage, hubwide: true, limit: 1, example: map[string]any{"value": "what nobody is to see"},
	}, func(_ context.Context, in *secretInput) (*struct{}, error) {
		return nil, failed(d.opt.Control.SetSecret(in.Name, in.Body.Value))
	})
	add(d, operation{
		id: "deleteSecret", method: http.MethodDelete, path: place, group: aboutSecrets, summary: "Forget a sealed value",
		needs: hub.MayManage, hubwide: true, errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
	}, func(_ context.Context, in *nameInput) (*struct{}, error) {
		return nil, failed(d.opt.Control.DeleteSecret(in.Name))
	})
}
