package httpd

import "net/http"

// Handler is what a server of no listener does with a request.
func Handler(opt Options) (http.Handler, error) {
	s, err := New(opt)
	if err != nil {
		return nil, err
	}
	return s.http.Handler, nil
}
