package builtin

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	qweatherNowDescription      = `Returns the present weather of a place by QWeather (和风天气).`
	qweatherForecastDescription = `Returns the weather of a place for up to 30 days, today included, by QWeather (和风天气).`
	qweatherFindDescription     = `Returns the places that QWeather (和风天气) knows by a name, with the ids by which the other tools take them.`
)

// The variables that the server needs, each under the first of its names that is
// set.
const (
	qweatherKey = "HEFENG_API_KEY"
	qweatherURL = "HEFENG_API_URL"
	// qweatherHost says the same as qweatherURL.
	qweatherHost = "HEFENG_API_HOST"
)

type (
	qweatherForecastArgs struct {
		placeArgs

		Days int `json:"days,omitempty" jsonschema:"how many days, today included: 1 to 30; 3 if left out"`
	}
	// places are those that have a name.
	places struct {
		Places []place `json:"places"`
	}
	place struct {
		ID        string `json:"id" jsonschema:"to be given as city"`
		Name      string `json:"name"`
		Region    string `json:"region,omitempty"`
		Country   string `json:"country,omitempty"`
		Latitude  string `json:"latitude"`
		Longitude string `json:"longitude"`
		Timezone  string `json:"timezone,omitempty"`
	}
)

// qweather answers the calls of the hefeng server.
type qweather struct {
	service

	key, base string
	given     string // as the address was written
}

func (b *Builtins) addQWeather(s *mcp.Server, env map[string]string) {
	q := &qweather{service: newService("QWeather", b.opt.Network), key: strings.TrimSpace(env[qweatherKey]), given: env[qweatherURL]}
	if q.given == "" {
		q.given = env[qweatherHost]
	}
	if q.given != "" {
		q.base = serviceBase(q.given)
	}
	mcp.AddTool(s, outside("get_weather", "Weather now", qweatherNowDescription), q.now)
	mcp.AddTool(s, outside("get_forecast", "Weather forecast", qweatherForecastDescription), q.forecast)
	mcp.AddTool(s, outside("find_city", "Find a place", qweatherFindDescription), q.find)
}

type (
	// qweatherAnswer is what every answer has. The newer APIs tell of errors in an
	// object, with an HTTP status.
	qweatherAnswer struct {
		Code  string `json:"code"`
		Error struct {
			Status int    `json:"status"`
			Title  string `json:"title"`
		} `json:"error"`
	}
	qweatherPlaces struct {
		Location []struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			Admin1    string `json:"adm1"`
			Admin2    string `json:"adm2"`
			Country   string `json:"country"`
			Latitude  string `json:"lat"`
			Longitude string `json:"lon"`
			Zone      string `json:"tz"`
		} `json:"location"`
	}
	qweatherNow struct {
		Now *struct {
			Observed      string `json:"obsTime"`
			Temperature   figure `json:"temp"`
			FeelsLike     figure `json:"feelsLike"`
			Text          string `json:"text"`
			Direction     string `json:"windDir"`
			Wind          figure `json:"windSpeed"`
			Humidity      figure `json:"humidity"`
			Precipitation figure `json:"precip"`
			Pressure      figure `json:"pressure"`
			Visibility    figure `json:"vis"`
			Clouds        figure `json:"cloud"`
		} `json:"now"`
	}
	qweatherDays struct {
		Daily []struct {
			Date          string `json:"fxDate"`
			Sunrise       string `json:"sunrise"`
			Sunset        string `json:"sunset"`
			Highest       figure `json:"tempMax"`
			Lowest        figure `json:"tempMin"`
			Day           string `json:"textDay"`
			Night         string `json:"textNight"`
			Direction     string `json:"windDirDay"`
			Wind          figure `json:"windSpeedDay"`
			Humidity      figure `json:"humidity"`
			Precipitation figure `json:"precip"`
			UV            figure `json:"uvIndex"`
		} `json:"daily"`
	}
)

func (q *qweather) now(ctx context.Context, _ *mcp.CallToolRequest, args placeArgs) (*mcp.CallToolResult, conditions, error) {
	id, name, err := q.place(ctx, &args)
	if err != nil {
		return nil, conditions{}, err
	}
	var answer qweatherNow
	if err := q.get(ctx, "/v7/weather/now", url.Values{"location": {id}, "lang": {args.Lang}}, name, &answer); err != nil {
		return nil, conditions{}, err
	}
	n := answer.Now
	if n == nil {
		return nil, conditions{}, q.garbled()
	}
	c := conditions{
		Place: name, Observed: n.Observed, Weather: n.Text,
		Temperature: n.Temperature.number, FeelsLike: n.FeelsLike.number, Humidity: n.Humidity.number,
		WindDirection: n.Direction, WindSpeed: n.Wind.number, Precipitation: n.Precipitation.number,
		Pressure: n.Pressure.number, Visibility: n.Visibility.number, Clouds: n.Clouds.number, Source: q.name,
	}
	return c.result(), c, nil
}

func (q *qweather) forecast(ctx context.Context, _ *mcp.CallToolRequest, args qweatherForecastArgs) (*mcp.CallToolResult, forecast, error) {
	spans := []int{3, 7, 10, 15, 30} // that the service has
	most := spans[len(spans)-1]
	if args.Days == 0 {
		args.Days = spans[0]
	}
	if args.Days < 1 || args.Days > most {
		return nil, forecast{}, say(`"days" must be from 1 to %d.`, "“days”必须在 1 到 %d 之间。", most).err()
	}
	id, name, err := q.place(ctx, &args.placeArgs)
	if err != nil {
		return nil, forecast{}, err
	}
	span := spans[slices.IndexFunc(spans, func(n int) bool { return n >= args.Days })]
	var answer qweatherDays
	if err := q.get(ctx, "/v7/weather/"+strconv.Itoa(span)+"d", url.Values{"location": {id}, "lang": {args.Lang}}, name, &answer); err != nil {
		return nil, forecast{}, err
	}
	if len(answer.Daily) == 0 {
		return nil, forecast{}, q.garbled()
	}
	f := forecast{Place: name, Days: []dayForecast{}, Source: q.name}
	for _, d := range answer.Daily[:min(len(answer.Daily), args.Days)] {
		f.Days = append(f.Days, dayForecast{
			Date: d.Date, Weather: d.Day, Night: d.Night, Highest: d.Highest.number, Lowest: d.Lowest.number, Humidity: d.Humidity.number,
			WindDirection: d.Direction, WindSpeed: d.Wind.number, Precipitation: d.Precipitation.number, UV: d.UV.number,
			Sunrise: d.Sunrise, Sunset: d.Sunset,
		})
	}
	return f.result(), f, nil
}

func (q *qweather) find(ctx context.Context, _ *mcp.CallToolRequest, args placeArgs) (*mcp.CallToolResult, places, error) {
	if err := args.check(); err != nil {
		return nil, places{}, err
	}
	found, err := q.look(ctx, &args)
	if err != nil {
		return nil, places{}, err
	}
	lines := make([]string, len(found))
	for i, p := range found {
		lines[i] = p.ID + " " + p.String()
	}
	return text(strings.Join(lines, "\n")), places{found}, nil
}

// String is the place as a model is told.
func (p *place) String() string {
	var parts []string
	for _, part := range []string{p.Name, p.Region, p.Country} {
		if part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// locationID is what the service calls its places.
var locationID = regexp.MustCompile(`^[0-9]{6,12}$`)

// place checks the arguments, and is what the service knows a place by, with its
// name.
func (q *qweather) place(ctx context.Context, args *placeArgs) (id, name string, err error) {
	if err := args.check(); err != nil {
		return "", "", err
	}
	if longitude, latitude, ok := coordinates(args.City); ok {
		return longitude + "," + latitude, args.City, nil
	}
	if locationID.MatchString(args.City) {
		return args.City, args.City, nil
	}
	found, err := q.look(ctx, args)
	if err != nil {
		return "", "", err
	}
	return found[0].ID, found[0].String(), nil
}

// look returns the places of a name, of which there is at least one.
func (q *qweather) look(ctx context.Context, args *placeArgs) ([]place, error) {
	var answer qweatherPlaces
	query := url.Values{"location": {args.City}, "lang": {args.Lang}, "number": {"10"}}
	if err := q.get(ctx, "/geo/v2/city/lookup", query, args.City, &answer); err != nil {
		return nil, err
	}
	var found []place
	for _, l := range answer.Location {
		if l.ID == "" {
			return nil, q.garbled()
		}
		region := l.Admin1
		if l.Admin2 != "" && l.Admin2 != l.Name && l.Admin2 != l.Admin1 {
			region = strings.TrimPrefix(l.Admin1+" "+l.Admin2, " ")
		}
		found = append(found, place{l.ID, l.Name, region, l.Country, l.Latitude, l.Longitude, l.Zone})
	}
	if len(found) == 0 {
		return nil, notFound(q.name, args.City)
	}
	return found, nil
}

// get asks the service.
func (q *qweather) get(ctx context.Context, path string, query url.Values, city string, into any) error {
	if err := q.ready(); err != nil {
		return err
	}
	status, body, err := q.ask(ctx, q.base+path+"?"+query.Encode(), http.Header{"X-Qw-Api-Key": {q.key}})
	if err != nil {
		return err
	}
	var said qweatherAnswer
	if err := q.read(body, &said); err != nil {
		if status != http.StatusOK {
			return q.failed(status, city)
		}
		return err
	}
	code := status
	if said.Code != "" {
		if code, err = strconv.Atoi(said.Code); err != nil {
			return q.garbled()
		}
	} else if status == http.StatusOK {
		return q.garbled()
	}
	if code != http.StatusOK || status != http.StatusOK {
		return q.failed(max(code, status), city)
	}
	return q.read(body, into)
}

// ready says what is missing; nil if nothing is.
func (q *qweather) ready() error {
	var missing []string
	if q.key == "" {
		missing = append(missing, qweatherKey)
	}
	if q.given == "" {
		missing = append(missing, qweatherURL)
	}
	if len(missing) > 0 {
		names := strings.Join(missing, ", ")
		return say("%s is missing. Get a key and the API host at https://console.qweather.com, and write them into \"env\" of the server \"hefeng\" in the configuration.",
			"缺少 %s。请在 https://console.qweather.com 获取密钥和 API Host，并写入配置中服务器“hefeng”的 env。", names).err()
	}
	if q.base == "" {
		return say("%s must be the API host that https://console.qweather.com shows, such as abc123.def.qweatherapi.com.",
			"%s 必须是 https://console.qweather.com 中显示的 API Host，例如 abc123.def.qweatherapi.com。", qweatherURL).err()
	}
	if strings.ContainsFunc(q.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return say("%s is no key: it has characters that no key has.", "%s 不是有效的密钥：含有密钥中不会出现的字符。", qweatherKey).err()
	}
	return nil
}

// failed says what a code of the service means, which also stands for the HTTP
// status.
func (q *qweather) failed(code int, city string) error {
	switch code {
	case http.StatusUnauthorized:
		return say("QWeather does not accept %s (401). Check it and the API host in the configuration.", "和风天气不接受 %s（401），请检查配置中的密钥和 API Host。", qweatherKey).err()
	case http.StatusPaymentRequired:
		return say("QWeather wants no more requests with this key: the quota is used up (402).", "和风天气不再接受此密钥的请求：额度已用完（402）。").err()
	case http.StatusForbidden:
		return say("The key of QWeather may not be used for this (403).", "此和风天气密钥没有访问该数据的权限（403）。").err()
	case http.StatusNotFound, http.StatusNoContent, http.StatusBadRequest:
		return notFound(q.name, city)
	}
	return q.refused(code)
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
