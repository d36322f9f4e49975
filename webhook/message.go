package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/alertmanager/template"

	"github.com/zeta-scaler/zeta-scaler/web/handler"
)

// version is the format of notifications.
const version = "4"

// maxAlerts is how many alerts one notification may have.
const maxAlerts = 4096

// expected is what somebody is told whose notification is none.
const expected = `expected is Alertmanager's own notification, {"version": "4", "groupKey": …, "alerts": [{"status": …, "labels": {…}, …}]}, as a webhook receiver without a payload of its own sends it`

// message is what is read of a notification. Alertmanager's package template
// has the whole; here a field that nobody reads, or that a later Alertmanager
// writes in another way, must not cost an action.
type message struct {
	// Version stays raw, so that one of another type is another version.
	Version  json.RawMessage `json:"version"`
	GroupKey string          `json:"groupKey"`
	// TruncatedAlerts is how many more alerts there were than max_alerts.
	TruncatedAlerts uint64  `json:"truncatedAlerts"`
	Alerts          []alert `json:"alerts"`
}

// alert is what is read of a template.Alert. The status of the group is not: it
// is firing as long as one alert is.
type alert struct {
	Status      string      `json:"status"`
	Labels      template.KV `json:"labels"`
	Fingerprint string      `json:"fingerprint"`
}

// decode reads a notification or says what is wrong with it.
func decode(body []byte) (*message, *refusal) {
	var m message
	err := json.Unmarshal(body, &m)
	mismatch, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	// After a mismatch the rest was read, too: another version explains it.
	if err != nil && !wrongType {
		return nil, &refusal{http.StatusBadRequest, "the notification is no JSON: " + handler.Shown(err.Error()) + "; " + expected, nil}
	}
	if missing := len(m.Version) == 0 || string(m.Version) == "null"; !missing && string(m.Version) != `"`+version+`"` {
		return nil, &refusal{
			http.StatusUnprocessableEntity,
			fmt.Sprintf("version %s of Alertmanager's notifications is not known; known is %q", handler.Shown(string(m.Version)), version), nil,
		}
	} else if missing || m.Alerts == nil && !wrongType {
		return nil, &refusal{http.StatusBadRequest, "the notification lacks version or alerts; " + expected, nil}
	}
	if wrongType {
		return nil, &refusal{
			http.StatusBadRequest,
			fmt.Sprintf("the notification has the wrong type (%s) at %s; %s", handler.Shown(mismatch.Value), handler.Shown(mismatch.Field), expected), nil,
		}
	}
	if n := len(m.Alerts); n > maxAlerts {
		return nil, &refusal{
			http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the notification has %d alerts, more than %d; group by recommendation, so that each has one of its own", n, maxAlerts), nil,
		}
	}
	return &m, nil
}
