package api

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
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
	if err := document.DecodeJSON(raw, into, false); err != nil {
		return refuse(http.StatusBadRequest, "invalid body: "+err.Error())
	}
	return nil
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
