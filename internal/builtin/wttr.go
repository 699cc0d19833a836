package builtin

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	wttrNowDescription      = `Returns the present weather of a place by wttr.in, which needs no key.`
	wttrForecastDescription = `Returns the weather of a place for today and the two days to come by wttr.in, which needs no key.`
)

// The variable that names another service with the same API, and where it is
// without that.
const (
	wttrURL     = "WTTR_URL"
	wttrDefault = "https://wttr.in"
)

type wttrForecastArgs struct {
	placeArgs

	Days int `json:"days,omitempty" jsonschema:"how many days, today included: 1 to 3; 3 if left out"`
}

// wttr answers the calls of the wttr server.
type wttr struct {
	service

	base string // "" if it cannot be used
}

func (b *Builtins) addWttr(s *mcp.Server, env map[string]string) {
	w := &wttr{service: newService("wttr.in", b.opt.Network)}
	given := env[wttrURL]
	if given == "" {
		given = wttrDefault
	}
	w.base = serviceBase(given)
	mcp.AddTool(s, outside("get_weather", "Weather now", wttrNowDescription), w.now)
	mcp.AddTool(s, outside("get_forecast", "Weather forecast", wttrForecastDescription), w.forecast)
}

// wttrText is a text as the service writes it.
type wttrText []struct {
	Value string `json:"value"`
}

func (t wttrText) String() string {
	if len(t) == 0 {
		return ""
	}
	return strings.TrimSpace(t[0].Value)
}

type (
	wttrAnswer struct {
		Current []wttrNow `json:"current_condition"`
		Area    []struct {
			Name    wttrText `json:"areaName"`
			Region  wttrText `json:"region"`
			Country wttrText `json:"country"`
		} `json:"nearest_area"`
		Weather []wttrDay `json:"weather"`
	}
	wttrNow struct {
		Local         string   `json:"localObsDateTime"`
		Observed      string   `json:"observation_time"`
		Temperature   figure   `json:"temp_C"`
		FeelsLike     figure   `json:"FeelsLikeC"`
		Humidity      figure   `json:"humidity"`
		Direction     string   `json:"winddir16Point"`
		Wind          figure   `json:"windspeedKmph"`
		Precipitation figure   `json:"precipMM"`
		Pressure      figure   `json:"pressure"`
		Visibility    figure   `json:"visibility"`
		Clouds        figure   `json:"cloudcover"`
		English       wttrText `json:"weatherDesc"`
		Chinese       wttrText `json:"lang_zh"`
	}
	wttrDay struct {
		Date      string     `json:"date"`
		Highest   figure     `json:"maxtempC"`
		Lowest    figure     `json:"mintempC"`
		UV        figure     `json:"uvIndex"`
		Hours     []wttrHour `json:"hourly"`
		Astronomy []struct {
			Sunrise string `json:"sunrise"`
			Sunset  string `json:"sunset"`
		} `json:"astronomy"`
	}
	wttrHour struct {
		Time          string   `json:"time"` // hours and minutes without zeros before: 0, 300, 1200
		Humidity      figure   `json:"humidity"`
		Direction     string   `json:"winddir16Point"`
		Wind          figure   `json:"windspeedKmph"`
		Precipitation figure   `json:"precipMM"`
		Rain          figure   `json:"chanceofrain"`
		English       wttrText `json:"weatherDesc"`
		Chinese       wttrText `json:"lang_zh"`
	}
)

func (w *wttr) now(ctx context.Context, _ *mcp.CallToolRequest, args placeArgs) (*mcp.CallToolResult, conditions, error) {
	answer, place, err := w.get(ctx, &args)
	if err != nil {
		return nil, conditions{}, err
	}
	if len(answer.Current) == 0 {
		return nil, conditions{}, w.garbled()
	}
	n := &answer.Current[0]
	c := conditions{
		Place: place, Observed: n.Local, Weather: in(args.Lang, n.Chinese, n.English),
		Temperature: n.Temperature.number, FeelsLike: n.FeelsLike.number, Humidity: n.Humidity.number,
		WindDirection: n.Direction, WindSpeed: n.Wind.number, Precipitation: n.Precipitation.number,
		Pressure: n.Pressure.number, Visibility: n.Visibility.number, Clouds: n.Clouds.number, Source: w.name,
	}
	if c.Observed == "" {
		c.Observed = n.Observed + " UTC"
	}
	return c.result(), c, nil
}

func (w *wttr) forecast(ctx context.Context, _ *mcp.CallToolRequest, args wttrForecastArgs) (*mcp.CallToolResult, forecast, error) {
	const most = 3
	switch {
	case args.Days == 0:
		args.Days = most
	case args.Days < 0 || args.Days > most:
		return nil, forecast{}, say(`"days" must be from 1 to %d.`, "“days”必须在 1 到 %d 之间。", most).err()
	}
	answer, place, err := w.get(ctx, &args.placeArgs)
	if err != nil {
		return nil, forecast{}, err
	}
	if len(answer.Weather) == 0 {
		return nil, forecast{}, w.garbled()
	}
	f := forecast{Place: place, Days: []dayForecast{}, Source: w.name}
	for _, d := range answer.Weather[:min(len(answer.Weather), args.Days)] {
		day := dayForecast{Date: d.Date, Highest: d.Highest.number, Lowest: d.Lowest.number, UV: d.UV.number}
		if len(d.Astronomy) > 0 {
			day.Sunrise, day.Sunset = d.Astronomy[0].Sunrise, d.Astronomy[0].Sunset
		}
		day.of(d.Hours, args.Lang)
		f.Days = append(f.Days, day)
	}
	return f.result(), f, nil
}

// of takes what holds for the day from its hours: what is told of noon, and the
// greatest chance and the sum of rain.
func (d *dayForecast) of(hours []wttrHour, lang string) {
	for i := range hours {
		h := &hours[i]
		if d.Weather == "" || h.Time == "1200" {
			d.Weather, d.WindDirection = in(lang, h.Chinese, h.English), h.Direction
			d.WindSpeed, d.Humidity = h.Wind.number, h.Humidity.number
		}
		if n := h.Rain.number; n != nil && (d.RainChance == nil || *n > *d.RainChance) {
			d.RainChance = n
		}
		if n := h.Precipitation.number; n != nil {
			sum := *n
			if d.Precipitation != nil {
				sum += *d.Precipitation
			}
			d.Precipitation = &sum
		}
	}
}

// in is a description in the language that is wanted, if there is one.
func in(lang string, zh, en wttrText) string {
	if text := zh.String(); lang == "zh" && text != "" {
		return text
	}
	return en.String()
}

// get asks for all that the service tells of a place, and what it calls that.
func (w *wttr) get(ctx context.Context, args *placeArgs) (*wttrAnswer, string, error) {
	if err := args.check(); err != nil {
		return nil, "", err
	}
	if w.base == "" {
		return nil, "", say("%s must be an address such as %s.", "%s 必须是类似 %s 的地址。", wttrURL, wttrDefault).err()
	}
	place := args.City
	switch longitude, latitude, ok := coordinates(place); {
	case ok:
		place = latitude + "," + longitude
	case strings.HasPrefix(place, ":") || strings.HasPrefix(place, "@") || strings.Trim(place, ".~") == "":
		// These are pages of the service, hosts whose place it finds, and steps of a path.
		return nil, "", say(`"city" must be the name of a place.`, "“city”必须是地名。").err()
	default:
		place = strings.TrimPrefix(place, "~")
	}
	link := w.base + "/" + url.PathEscape(place) + "?format=j1&lang=" + args.Lang
	status, body, err := w.ask(ctx, link, nil)
	switch {
	case err != nil:
		return nil, "", err
	case status == http.StatusNotFound:
		return nil, "", notFound(w.name, args.City)
	case status != http.StatusOK:
		return nil, "", w.refused(status)
	}
	answer := new(wttrAnswer)
	if err := w.read(body, answer); err != nil {
		return nil, "", err
	}
	name := args.City
	if len(answer.Area) > 0 {
		area := answer.Area[0]
		var parts []string
		for _, part := range []string{area.Name.String(), area.Region.String(), area.Country.String()} {
			if part != "" && (len(parts) == 0 || parts[len(parts)-1] != part) {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			name = strings.Join(parts, ", ")
		}
	}
	return answer, name, nil
}

func notFound(service, city string) error {
	return say("%s knows no place %q.", "%s 没有找到地点 %q。", service, shorten(city)).err()
}

// serviceBase is the address of a service, of which only the host may be given; ""
// if it cannot be used. What goes over the network in clear is for this machine only, since a key goes
// with it.
func serviceBase(given string) string {
	given = strings.TrimSpace(given)
	if !strings.Contains(given, "://") {
		given = "https://" + given
	}
	u, err := url.Parse(given)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return ""
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/")
}
