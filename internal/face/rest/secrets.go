package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolcrib/toolcrib/internal/api"
)

type (
	secretListOutput struct{ Body api.SecretList }
	// NameInput names the sealed value of an operation; exported as [KeyInput] is.
	NameInput struct {
		Name string `path:"name" doc:"Name of the sealed value" pattern:"^[A-Za-z0-9._-]{1,128}$"`
	}
	secretInput struct {
		NameInput
		Body api.SecretValue
	}
)

// secrets registers what is about sealed values. None is ever told.
func (d *Door) secrets() {
	huma.Register(d.api, change("listSecrets", http.MethodGet, "/secrets", "The names of the sealed values"),
		func(context.Context, *struct{}) (*secretListOutput, error) {
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
	huma.Register(d.api, change("setSecret", http.MethodPut, "/secrets/{name}", "Seal a value"),
		func(_ context.Context, in *secretInput) (*struct{}, error) {
			return nil, failed(d.opt.Control.SetSecret(in.Name, in.Body.Value))
		})
	huma.Register(d.api, change("deleteSecret", http.MethodDelete, "/secrets/{name}", "Forget a sealed value"),
		func(_ context.Context, in *NameInput) (*struct{}, error) {
			return nil, failed(d.opt.Control.DeleteSecret(in.Name))
		})
}
