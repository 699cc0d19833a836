package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the weather servers have in common: how others are asked, and what is
// told.

// Bounds of asking a weather service.
const (
	weatherLimit  = 10 * time.Second
	weatherAnswer = 1 << 20 // bytes
	maxPlace      = 100     // characters
)

type (
	// placeArgs are those of every weather tool.
	placeArgs struct {
		City string `json:"city" jsonschema:"name of a city or place, such as 北京 or Berlin; or longitude,latitude such as 116.41,39.92"`
		Lang string `json:"lang,omitempty" jsonschema:"language of the description: zh or en; zh if left out"`
	}

	// conditions is the weather at one time.
	conditions struct {
		Place         string   `json:"place"`
		Observed      string   `json:"observed_at"`
		Weather       string   `json:"weather"`
		Temperature   *float64 `json:"temperature_c,omitempty"`
		FeelsLike     *float64 `json:"feels_like_c,omitempty"`
		Humidity      *float64 `json:"humidity_percent,omitempty"`
		WindDirection string   `json:"wind_direction,omitempty"`
		WindSpeed     *float64 `json:"wind_speed_kmh,omitempty"`
		Precipitation *float64 `json:"precipitation_mm,omitempty" jsonschema:"of the last hour"`
		Pressure      *float64 `json:"pressure_hpa,omitempty"`
		Visibility    *float64 `json:"visibility_km,omitempty"`
		Clouds        *float64 `json:"cloud_cover_percent,omitempty"`
		Source        string   `json:"source" jsonschema:"who says so"`
	}
	// forecast is the weather of days to come.
	forecast struct {
		Place  string        `json:"place"`
		Days   []dayForecast `json:"days"`
		Source string        `json:"source" jsonschema:"who says so"`
	}
	dayForecast struct {
		Date          string   `json:"date" jsonschema:"YYYY-MM-DD"`
		Weather       string   `json:"weather" jsonschema:"by day"`
		Night         string   `json:"weather_by_night,omitempty"`
		Highest       *float64 `json:"highest_c,omitempty"`
		Lowest        *float64 `json:"lowest_c,omitempty"`
		Humidity      *float64 `json:"humidity_percent,omitempty"`
		WindDirection string   `json:"wind_direction,omitempty"`
		WindSpeed     *float64 `json:"wind_speed_kmh,omitempty"`
		Precipitation *float64 `json:"precipitation_mm,omitempty"`
		RainChance    *float64 `json:"rain_chance_percent,omitempty"`
		UV            *float64 `json:"uv_index,omitempty"`
		Sunrise       string   `json:"sunrise,omitempty"`
		Sunset        string   `json:"sunset,omitempty"`
	}
)

// figure is a number that services write as a text; the empty text is none.
type figure struct{ number *float64 }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *figure) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	if text = strings.TrimSpace(text); text == "" || text == "null" {
		f.number = nil
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n-n != 0 { // which infinities and what is no number are not
		return errors.New("a number is none")
	}
	f.number = &n
	return nil
}

// outside is a tool that only asks others.
func outside(name, title, description string) *mcp.Tool {
	open := true
	return &mcp.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &open},
	}
}

// service is a weather service on the network.
type service struct {
	name   string
	client *http.Client
}

// newService returns one. Nobody is followed elsewhere: a key is for one host.
func newService(name string, network http.RoundTripper) service {
	return service{name, &http.Client{
		Transport: network, Timeout: weatherLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask gets what is at a URL, with its status. The error says nothing of the
// request.
func (s service) ask(ctx context.Context, link string, header http.Header) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return 0, nil, s.unusable()
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "toolcrib/"+version)
	res, err := s.client.Do(req)
	if err != nil {
		return 0, nil, s.unreachable(ctx, err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, weatherAnswer+1))
	switch {
	case err != nil:
		return 0, nil, s.unreachable(ctx, err)
	case len(body) > weatherAnswer:
		return 0, nil, say("%s has sent more than %d MiB.", "%s 返回的内容超过 %d MiB。", s.name, weatherAnswer>>20).err()
	}
	return res.StatusCode, body, nil
}

// unreachable says why a service was not reached, without the URL.
func (s service) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return say("%s did not answer within %s. Try again later.", "%s 在 %s 内没有应答，请稍后重试。", s.name, weatherLimit).err()
	}
	if link, ok := errors.AsType[*url.Error](err); ok {
		err = link.Err
	}
	return say("%s cannot be reached: %s", "无法连接 %s：%s", s.name, shorten(err.Error())).err()
}

// refused says what an HTTP status other than 200 means.
func (s service) refused(status int) error {
	switch {
	case status == http.StatusTooManyRequests:
		return say("%s wants no more requests for now (429). Try again later.", "%s 暂时不再接受请求（429），请稍后重试。", s.name).err()
	case status >= http.StatusInternalServerError:
		return say("%s does not work at the moment (%d). Try again later.", "%s 目前不可用（%d），请稍后重试。", s.name, status).err()
	}
	return say("%s has refused the request (%d).", "%s 拒绝了请求（%d）。", s.name, status).err()
}

// unusable is the error of a request that cannot be made.
func (s service) unusable() error {
	return say("The address of %s cannot be used.", "%s 的地址无法使用。", s.name).err()
}

// read decodes an answer.
func (s service) read(body []byte, into any) error {
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return s.garbled()
	}
	return nil
}

// garbled is the error of an answer that is none.
func (s service) garbled() error {
	return say("%s has sent an answer that cannot be read. Try again later.", "%s 返回了无法解读的内容，请稍后重试。", s.name).err()
}

// check reads the arguments that all tools have.
func (a *placeArgs) check() error {
	a.City = strings.TrimSpace(a.City)
	if a.City == "" || utf8.RuneCountInString(a.City) > maxPlace || strings.ContainsFunc(a.City, unicode.IsControl) {
		return say(`"city" must have 1 to %d characters.`, "“city”必须为 1 到 %d 个字符。", maxPlace).err()
	}
	switch a.Lang {
	case "":
		a.Lang = "zh"
	case "zh", "en":
	default:
		return say(`"lang" must be zh or en.`, "“lang”必须是 zh 或 en。").err()
	}
	return nil
}

// coordinates reports whether a place is a longitude and a latitude.
func coordinates(place string) (longitude, latitude string, ok bool) {
	longitude, latitude, ok = strings.Cut(place, ",")
	longitude, latitude = strings.TrimSpace(longitude), strings.TrimSpace(latitude)
	return longitude, latitude, ok && within(longitude, 180) && within(latitude, 90)
}

func within(text string, most float64) bool {
	n, err := strconv.ParseFloat(text, 64)
	return err == nil && n >= -most && n <= most
}

// result tells the weather as a model is told.
func (c *conditions) result() *mcp.CallToolResult {
	var zh, en strings.Builder
	fmt.Fprintf(&zh, "%s：%s", c.Place, c.Weather)
	fmt.Fprintf(&en, "%s: %s", c.Place, c.Weather)
	both := func(zhName, enName, unit string, n *float64) {
		if n != nil {
			fmt.Fprintf(&zh, "，%s %s%s", zhName, short(*n), unit)
			fmt.Fprintf(&en, ", %s %s%s", enName, short(*n), unit)
		}
	}
	both("气温", "temperature", "°C", c.Temperature)
	both("体感", "feels like", "°C", c.FeelsLike)
	both("湿度", "humidity", "%", c.Humidity)
	both("风速", "wind "+c.WindDirection, " km/h", c.WindSpeed)
	both("降水", "precipitation", " mm", c.Precipitation)
	fmt.Fprintf(&zh, "（%s，来源：%s）", c.Observed, c.Source)
	fmt.Fprintf(&en, " (%s, by %s)", c.Observed, c.Source)
	return text(zh.String(), en.String())
}

// result tells the forecast as a model is told.
func (f *forecast) result() *mcp.CallToolResult {
	zh, en := []string{f.Place + "（来源：" + f.Source + "）"}, []string{f.Place + " (by " + f.Source + ")"}
	for _, d := range f.Days {
		both := d.Weather
		if d.Night != "" && d.Night != d.Weather {
			both += " / " + d.Night
		}
		span := ""
		if d.Lowest != nil && d.Highest != nil {
			span = fmt.Sprintf("%s ~ %s°C", short(*d.Lowest), short(*d.Highest))
		}
		zh = append(zh, strings.TrimSuffix(d.Date+"："+both+"，"+span, "，"))
		en = append(en, strings.TrimSuffix(d.Date+": "+both+", "+span, ", "))
	}
	return text(strings.Join(zh, "\n"), strings.Join(en, "\n"))
}

func short(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
