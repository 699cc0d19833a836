package builtin

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fake is a weather service whose answers the test gives.
type fake struct {
	*httptest.Server

	answers map[string]string // by path
	status  int               // of all answers; 0 for 200, and 404 where there is none
	asked   []*http.Request
}

func newFake(t *testing.T, answers map[string]string) *fake {
	t.Helper()
	f := &fake{answers: answers}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked = append(f.asked, r)
		body, ok := f.answers[r.URL.Path]
		switch {
		case f.status != 0:
			if f.status/100 == 3 {
				w.Header().Set("Location", f.URL+"/elsewhere")
			}
			w.WriteHeader(f.status)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(f.Close)
	return f
}

// served returns a client of the server with the key, which is served with these
// variables.
func served(t *testing.T, key string, env map[string]string) *mcp.ClientSession {
	t.Helper()
	server, ok := New(Options{}).server(key, env)
	if !ok {
		t.Fatalf("no server %q", key)
	}
	return session(t, server)
}

const (
	qwLookup = `{"code":"200","location":[{"name":"北京","id":"101010100","lat":"39.90499","lon":"116.40529","adm2":"北京","adm1":"北京市","country":"中国","tz":"Asia/Shanghai","utcOffset":"+08:00"},` +
		`{"name":"朝阳","id":"101010300","lat":"39.92","lon":"116.44","adm2":"北京","adm1":"北京市","country":"中国","tz":"Asia/Shanghai"}],"refer":{}}`
	qwNow = `{"code":"200","updateTime":"2026-01-31T10:05+08:00","fxLink":"https://x","now":{"obsTime":"2026-01-31T10:00+08:00","temp":"-3","feelsLike":"-8","icon":"100",` +
		`"text":"晴","wind360":"315","windDir":"西北风","windScale":"3","windSpeed":"16","humidity":"21","precip":"0.0","pressure":"1030","vis":"30","cloud":"","dew":"-22"},"refer":{}}`
	qwDays = `{"code":"200","daily":[{"fxDate":"2026-01-31","sunrise":"07:22","sunset":"17:29","tempMax":"4","tempMin":"-7","textDay":"晴","textNight":"多云","windDirDay":"北风","windSpeedDay":"16","humidity":"30","precip":"0.0","uvIndex":"2"},` +
		`{"fxDate":"2026-02-01","tempMax":"5","tempMin":"-6","textDay":"多云","textNight":"多云","windDirDay":"南风","windSpeedDay":"3","humidity":"35","precip":"1.2","uvIndex":"1"},` +
		`{"fxDate":"2026-02-02","tempMax":"6","tempMin":"-5","textDay":"阴","textNight":"阴","windDirDay":"南风","windSpeedDay":"3","humidity":"35","precip":"1.2","uvIndex":"1"}]}`
)

func qweatherFake(t *testing.T) (*fake, map[string]string) {
	t.Helper()
	f := newFake(t, map[string]string{
		"/geo/v2/city/lookup": qwLookup, "/v7/weather/now": qwNow, "/v7/weather/3d": qwDays, "/v7/weather/7d": qwDays,
	})
	return f, map[string]string{qweatherKey: "k-0123456789", qweatherURL: f.URL}
}

func TestQWeather(t *testing.T) {
	f, env := qweatherFake(t)
	s := served(t, "hefeng", env)
	said, got, isError := call(t, s, "get_weather", map[string]any{"city": " 北京 "})
	if isError || got["place"] != "北京, 北京市, 中国" || got["weather"] != "晴" || got["temperature_c"] != -3.0 || got["feels_like_c"] != -8.0 ||
		got["humidity_percent"] != 21.0 || got["wind_speed_kmh"] != 16.0 || got["observed_at"] != "2026-01-31T10:00+08:00" || got["source"] != "QWeather" {
		t.Errorf("now: %s %v", said, got)
	}
	if _, there := got["cloud_cover_percent"]; there || !strings.Contains(said, "气温 -3°C") || !strings.Contains(said, "temperature -3°C") {
		t.Errorf("now: %s %v", said, got)
	}
	if first, second := f.asked[0], f.asked[1]; first.URL.Query().Get("location") != "北京" || first.URL.Query().Get("lang") != "zh" ||
		second.URL.Query().Get("location") != "101010100" || second.Header.Get("X-QW-Api-Key") != "k-0123456789" || strings.Contains(second.URL.String(), "k-01") {
		t.Errorf("asked: %v %v", first.URL, second.URL)
	}
	f.asked = nil
	said, got, isError = call(t, s, "get_forecast", map[string]any{"city": "101010100", "days": 2, "lang": "en"})
	if days, _ := got["days"].([]any); isError || len(days) != 2 || len(f.asked) != 1 || f.asked[0].URL.Path != "/v7/weather/3d" || f.asked[0].URL.Query().Get("lang") != "en" {
		t.Errorf("forecast: %s %v", said, got)
	} else if day := days[0].(map[string]any); day["date"] != "2026-01-31" || day["highest_c"] != 4.0 || day["lowest_c"] != -7.0 || day["weather_by_night"] != "多云" || day["sunrise"] != "07:22" {
		t.Errorf("forecast: %v", day)
	}
	if _, _, isError = call(t, s, "get_forecast", map[string]any{"city": "116.41,39.92", "days": 5}); isError || f.asked[1].URL.Path != "/v7/weather/7d" || f.asked[1].URL.Query().Get("location") != "116.41,39.92" {
		t.Errorf("asked: %v", f.asked[1].URL)
	}
	_, got, isError = call(t, s, "find_city", map[string]any{"city": "北京"})
	if list, _ := got["places"].([]any); isError || len(list) != 2 || list[1].(map[string]any)["region"] != "北京市 北京" {
		t.Errorf("places: %v", got)
	}
	for _, args := range []map[string]any{
		{"city": ""}, {"city": strings.Repeat("x", 101)}, {"city": "a\nb"}, {"city": "x", "lang": "fr"},
	} {
		if said, _, isError := call(t, s, "get_weather", args); !isError {
			t.Errorf("%v: %s", args, said)
		}
	}
	for _, days := range []int{-1, 31} {
		if said, _, isError := call(t, s, "get_forecast", map[string]any{"city": "x", "days": days}); !isError {
			t.Errorf("%d days: %s", days, said)
		}
	}
}

// What is missing is named, with what to do; and nothing is asked.
func TestQWeatherIsToBeSetUp(t *testing.T) {
	const key = "k-0123456789"
	for _, test := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{qweatherKey, qweatherURL, "console.qweather.com"}},
		{map[string]string{qweatherURL: "abc.qweatherapi.com"}, []string{qweatherKey + " is missing", "缺少 " + qweatherKey}},
		{map[string]string{qweatherKey: key}, []string{qweatherURL + " is missing"}},
		{map[string]string{qweatherKey: key, qweatherURL: "http://abc.qweatherapi.com"}, []string{qweatherURL + " must be"}},
		{map[string]string{qweatherKey: key, qweatherURL: "https://user:pw@abc.qweatherapi.com"}, []string{qweatherURL + " must be"}},
		{map[string]string{qweatherKey: key, qweatherHost: "ftp://abc"}, []string{qweatherURL + " must be"}},
		{map[string]string{qweatherKey: "two\nlines", qweatherURL: "abc.qweatherapi.com"}, []string{qweatherKey + " is no key"}},
	} {
		said, _, isError := call(t, served(t, "hefeng", test.env), "get_weather", map[string]any{"city": "北京"})
		for _, want := range test.want {
			if !isError || !strings.Contains(said, want) || strings.Contains(said, key) || strings.Contains(said, "two") {
				t.Errorf("%v: %s, want %s", test.env, said, want)
			}
		}
	}
}

// What goes wrong there is told as it is, and never with the key.
func TestQWeatherFails(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{http.StatusUnauthorized, `{"error":{"status":401,"type":"x","title":"Unauthorized","detail":"k-0123456789"}}`, "(401)"},
		{0, `{"code":"401"}`, "(401)"},
		{0, `{"code":"402"}`, "(402)"},
		{http.StatusForbidden, `{"error":{"status":403}}`, "(403)"},
		{0, `{"code":"404"}`, "knows no place"},
		{0, `{"code":"200","location":[]}`, "knows no place"},
		{http.StatusTooManyRequests, ``, "(429)"},
		{0, `{"code":"429"}`, "(429)"},
		{http.StatusInternalServerError, `<html>`, "(500)"},
		{http.StatusFound, ``, "(302)"},
		{0, `<html>`, "cannot be read"},
		{0, ``, "cannot be read"},
		{0, `[]`, "cannot be read"},
		{0, `{}`, "cannot be read"},
		{0, `{"code":"x"}`, "cannot be read"},
		{0, `{"code":"200","location":[{}]}`, "cannot be read"},
		{0, `{"code":"200","location":"x"}`, "cannot be read"},
		{0, `{"code":"200","location":[{"id":"1","name":"` + strings.Repeat("x", weatherAnswer) + `"}]}`, "more than 1 MiB"},
	} {
		f, env := qweatherFake(t)
		f.status, f.answers["/geo/v2/city/lookup"] = test.status, test.body
		said, _, isError := call(t, served(t, "hefeng", env), "get_weather", map[string]any{"city": "北京"})
		if !isError || !strings.Contains(said, test.want) || strings.Contains(said, "k-01") || len(f.asked) != 1 {
			t.Errorf("%d %.60s: %s, %d asked", test.status, test.body, said, len(f.asked))
		}
	}
	for _, body := range []string{`{"code":"200"}`, `{"code":"200","now":{"temp":"warm"}}`, `{"code":"200","now":{"temp":"Inf"}}`, `{"code":"200","now":7}`} {
		f, env := qweatherFake(t)
		f.answers["/v7/weather/now"] = body
		if said, _, isError := call(t, served(t, "hefeng", env), "get_weather", map[string]any{"city": "北京"}); !isError || !strings.Contains(said, "cannot be read") {
			t.Errorf("%s: %s", body, said)
		}
	}
	f, env := qweatherFake(t)
	f.Close()
	if said, _, isError := call(t, served(t, "hefeng", env), "get_weather", map[string]any{"city": "北京"}); !isError || !strings.Contains(said, "cannot be reached") || strings.Contains(said, "location=") {
		t.Error(said)
	}
}

const wttrPage = `{"current_condition":[{"FeelsLikeC":"-1","cloudcover":"25","humidity":"60","localObsDateTime":"2026-01-31 10:00 AM","observation_time":"02:00 AM","precipMM":"0.1","pressure":"1026",` +
	`"temp_C":"2","visibility":"10","weatherDesc":[{"value":"Partly cloudy "}],"lang_zh":[{"value":"多云"}],"winddir16Point":"NNW","windspeedKmph":"7"}],` +
	`"nearest_area":[{"areaName":[{"value":"Beijing"}],"country":[{"value":"China"}],"region":[{"value":"Beijing"}]}],` +
	`"weather":[{"date":"2026-01-31","maxtempC":"6","mintempC":"-4","uvIndex":"2","astronomy":[{"sunrise":"07:22 AM","sunset":"05:29 PM"}],` +
	`"hourly":[{"time":"0","humidity":"70","winddir16Point":"N","windspeedKmph":"5","precipMM":"0.2","chanceofrain":"10","weatherDesc":[{"value":"Clear"}]},` +
	`{"time":"1200","humidity":"40","winddir16Point":"W","windspeedKmph":"9","precipMM":"0.3","chanceofrain":"40","weatherDesc":[{"value":"Sunny"}],"lang_zh":[{"value":"晴天"}]}]},` +
	`{"date":"2026-02-01","maxtempC":"7","mintempC":"-3","hourly":[]}]}`

func TestWttr(t *testing.T) {
	f := newFake(t, map[string]string{"/北京": wttrPage, "/39.92,116.41": wttrPage})
	s := served(t, "wttr", map[string]string{wttrURL: f.URL + "/"})
	said, got, isError := call(t, s, "get_weather", map[string]any{"city": "北京"})
	if isError || got["place"] != "Beijing, China" || got["weather"] != "多云" || got["temperature_c"] != 2.0 || got["wind_direction"] != "NNW" || got["observed_at"] != "2026-01-31 10:00 AM" {
		t.Errorf("now: %s %v", said, got)
	}
	if q := f.asked[0].URL.Query(); q.Get("format") != "j1" || q.Get("lang") != "zh" || f.asked[0].Header.Get("User-Agent") == "" {
		t.Errorf("asked: %v", f.asked[0].URL)
	}
	if _, got, isError = call(t, s, "get_weather", map[string]any{"city": "116.41, 39.92", "lang": "en"}); isError || got["weather"] != "Partly cloudy" {
		t.Errorf("now: %v", got)
	}
	_, got, isError = call(t, s, "get_forecast", map[string]any{"city": "北京"})
	days, _ := got["days"].([]any)
	if isError || len(days) != 2 {
		t.Fatalf("forecast: %v", got)
	}
	if day := days[0].(map[string]any); day["weather"] != "晴天" || day["highest_c"] != 6.0 || day["rain_chance_percent"] != 40.0 || day["precipitation_mm"] != 0.5 || day["wind_direction"] != "W" || day["sunset"] != "05:29 PM" {
		t.Errorf("forecast: %v", day)
	}
	asked := len(f.asked)
	for _, city := range []string{":help", "@example.com", "..", "~", ""} {
		if said, _, isError := call(t, s, "get_weather", map[string]any{"city": city}); !isError {
			t.Errorf("%q: %s", city, said)
		}
	}
	if said, _, isError := call(t, s, "get_forecast", map[string]any{"city": "x", "days": 4}); !isError || len(f.asked) != asked {
		t.Errorf("%s", said)
	}
	if said, _, isError := call(t, s, "get_weather", map[string]any{"city": "nowhere/../at all"}); !isError || !strings.Contains(said, "knows no place") {
		t.Error(said)
	}
	if said, _, isError := call(t, served(t, "wttr", map[string]string{wttrURL: "http://weather.example"}), "get_weather", map[string]any{"city": "x"}); !isError || !strings.Contains(said, wttrURL) {
		t.Error(said)
	}
}

func TestWttrFails(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{http.StatusUnauthorized, "", "(401)"},
		{http.StatusTooManyRequests, "", "(429)"},
		{http.StatusServiceUnavailable, "Sorry, we are running out of queries", "(503)"},
		{http.StatusMovedPermanently, "", "(301)"},
		{0, "Unknown location; please try ~39.9,116.4", "cannot be read"},
		{0, `{}`, "cannot be read"},
		{0, `{"current_condition":[{"temp_C":true}]}`, "cannot be read"},
		{0, strings.Repeat(" ", weatherAnswer+1), "more than"},
	} {
		f := newFake(t, map[string]string{"/x": test.body})
		f.status = test.status
		s := served(t, "wttr", map[string]string{wttrURL: f.URL})
		for _, tool := range []string{"get_weather", "get_forecast"} {
			said, _, isError := call(t, s, tool, map[string]any{"city": "x"})
			if tool == "get_forecast" && strings.Contains(test.body, "temp_C") {
				continue
			}
			if !isError || !strings.Contains(said, test.want) {
				t.Errorf("%d %.40s: %s: %s", test.status, test.body, tool, said)
			}
		}
	}
}

// silentNetwork never answers.
type silentNetwork struct{}

func (silentNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A service that says nothing is not waited for.
func TestWeatherTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService("wttr.in", silentNetwork{})
		began := time.Now()
		_, _, err := s.ask(t.Context(), "https://wttr.in/x", nil)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "did not answer within 10s") || took != weatherLimit {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestServiceBase(t *testing.T) {
	for given, want := range map[string]string{
		"abc.qweatherapi.com": "https://abc.qweatherapi.com", "https://abc/": "https://abc", "http://127.0.0.1:80/x/": "http://127.0.0.1:80/x", "http://[::1]": "http://[::1]",
		"http://localhost:1": "http://localhost:1", "http://abc": "", "https://": "", "https://a?b": "", "https://a#b": "", "a b": "", "file:///etc": "",
	} {
		if got := serviceBase(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// FuzzFigure holds that what is taken for a number is one.
func FuzzFigure(f *testing.F) {
	for _, text := range []string{`"1"`, `1`, `""`, `null`, `"x"`, `"1e999"`, `"NaN"`, `true`, `"-0.5"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got struct {
			F figure `json:"f"`
		}
		if err := json.Unmarshal([]byte(`{"f":`+text+`}`), &got); err == nil && got.F.number != nil {
			if _, err := json.Marshal(*got.F.number); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// The error of a service that is gone does not tell the request.
func TestUnreachableTellsNoURL(t *testing.T) {
	s := newService("x", failing{})
	if _, _, err := s.ask(t.Context(), "https://host.example/secret?key=1", nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
}
