package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/document"
	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

const (
	// maxBody caps the bodies of requests, in bytes; the webhook has a limit of
	// its own.
	maxBody = 1_000_000
	// WebhookPath is where an Alertmanager calls.
	WebhookPath = "/webhook/alertmanager"
	// maxReason caps the words of an operator, in characters.
	maxReason = 500
)

// readBody reads a body that is not too large.
func readBody(c echo.Context) ([]byte, error) {
	raw, err := handler.ReadBody(c.Response(), c.Request(), maxBody)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than 1 MB")
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body cannot be read")
	}
	return raw, nil
}

// decodeBody reads exactly one JSON object and refuses fields that it does not
// know.
func decodeBody(c echo.Context, into any, optional bool) error {
	raw, err := readBody(c)
	if err != nil {
		return err
	}
	if len(raw) == 0 && optional {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil || mediaType != echo.MIMEApplicationJSON {
		return refuse(http.StatusUnsupportedMediaType, "the body has to be JSON, sent with Content-Type: application/json")
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "invalid body: "+jsonError(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "invalid body: there is something behind the JSON object")
	}
	if err := checkFields(raw, reflect.TypeOf(into)); err != nil {
		return refuse(http.StatusBadRequest, "invalid body: "+err.Error())
	}
	return nil
}

// jsonError says what is wrong in words that are not those of a program.
func jsonError(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text := fmt.Sprintf("%s where %s is expected", t.Value, expected(t.Type))
		if t.Field != "" {
			text = fmt.Sprintf("%q is %s", handler.Shown(t.Field), text)
		}
		return text
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not JSON at byte %d", s.Offset)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		return fmt.Sprintf("unknown field %q", handler.Shown(name))
	}
	if t, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Sprintf("%s is not an RFC 3339 time, such as 2026-01-31T15:04:05Z", handler.Shown(t.Value))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON object ends too early"
	}
	return handler.Shown(strings.TrimPrefix(err.Error(), "json: "))
}

func expected(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	default:
		return "an object"
	}
}

// checkReason refuses words that would break a log line or a page.
func checkReason(reason string, required bool) error {
	switch {
	case required && strings.TrimSpace(reason) == "":
		return refuse(http.StatusBadRequest, `invalid body: "reason" is missing: say why`)
	case !utf8.ValidString(reason):
		return refuse(http.StatusBadRequest, `invalid body: "reason" is not UTF-8`)
	case utf8.RuneCountInString(reason) > maxReason:
		return refuse(http.StatusBadRequest, fmt.Sprintf(`invalid body: "reason" has more than %d characters`, maxReason))
	case strings.ContainsFunc(reason, document.Unprintable):
		return refuse(http.StatusBadRequest, `invalid body: "reason" has control characters`)
	}
	return nil
}
