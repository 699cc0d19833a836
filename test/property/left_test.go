package property_test

import (
	"container/list"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// kept are the maps that are no callers': of the configuration, and caches, which
// are bounded.
func kept() map[string]bool {
	return map[string]bool{
		"gateway.Gateway.opt": true,
		"call.Pipeline.verbs": true, "call.Pipeline.catalog": true, "call.Pipeline.fleet": true, "call.Pipeline.bus": true, "call.Pipeline.log": true,
		"call.Pipeline.cache": true, "call.Pipeline.mentions": true, "call.Pipeline.results": true, "call.Pipeline.web": true,
		"call.Pipeline.schemas": true, "call.Pipeline.tools": true, "call.Pipeline.askers": true,
		"fleet.Fleet.opt": true, "fleet.Fleet.ways": true, "fleet.Fleet.ctx": true, "fleet.set.byKey": true,
		"fleet.server.fleet": true, "fleet.server.def": true, "fleet.server.log": true,
	}
}

// leftovers are the maps and lists in the parts of a hub that are not empty, by
// their paths. The hub is at rest.
func leftovers(parts ...any) []string {
	w := &walk{seen: make(map[uintptr]bool), kept: kept()}
	for _, p := range parts {
		w.visit(reflect.ValueOf(p), reflect.TypeOf(p).String())
	}
	return w.left
}

type walk struct {
	seen map[uintptr]bool
	kept map[string]bool
	left []string
}

// ours reports whether a type is one whose values are looked into.
func ours(t reflect.Type) bool {
	for _, name := range []string{"gateway", "call", "fleet"} {
		if strings.HasSuffix(t.PkgPath(), "/internal/"+name) {
			return true
		}
	}
	return false
}

func (w *walk) visit(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || w.seen[v.Pointer()] {
			return
		}
		w.seen[v.Pointer()] = true
		w.visit(v.Elem(), path)
	case reflect.Map:
		if v.Len() > 0 {
			w.left = append(w.left, fmt.Sprintf("%s (%d)", path, v.Len()))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Struct:
		t := v.Type()
		if t == reflect.TypeFor[list.List]() {
			if n := v.FieldByName("len").Int(); n > 0 {
				w.left = append(w.left, fmt.Sprintf("%s (%d)", path, n))
			}
			return
		}
		if strings.HasPrefix(t.String(), "atomic.Pointer[") {
			load := reflect.NewAt(t, unsafe.Pointer(v.UnsafeAddr())).MethodByName("Load")
			w.visit(load.Call(nil)[0], path)
			return
		}
		if !ours(t) {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !w.kept[t.String()+"."+f.Name] {
				w.visit(v.Field(i), path+"."+f.Name)
			}
		}
	}
}
