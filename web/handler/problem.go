// Package handler is what all our HTTP handlers do alike: they tell errors as
// problem+json, bound what they read, and survive a panic.
package handler

import (
	"encoding/json"
	"net/http"
	"strings"
)

// ProblemType is the media type of an error as RFC 9457 has it.
const ProblemType = "application/problem+json"

// InternalDetail is all that a caller learns of an internal error.
const InternalDetail = "the service failed to answer; its log says why"

// Problem is an error as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// Refuse answers with an error; the detail is for whoever asked.
func Refuse(w http.ResponseWriter, status int, detail string) {
	WriteProblem(w, status, Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail})
}

// WriteProblem answers with an error that may have more fields than a Problem.
func WriteProblem(w http.ResponseWriter, status int, problem any) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	WriteJSON(w, status, ProblemType, problem)
}

// WriteJSON answers with a value that can be written as JSON. What a client that
// is gone does not get is lost.
func WriteJSON(w http.ResponseWriter, status int, mediaType string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // a type of ours that has no JSON
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// maxShown caps how much of a caller's own words is repeated, in bytes.
const maxShown = 200

// Shown cuts a caller's words to a length that an answer and a log bear.
func Shown(words string) string {
	if len(words) <= maxShown {
		return words
	}
	return strings.ToValidUTF8(words[:maxShown], "") + "…"
}
