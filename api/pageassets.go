package api

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"

	"github.com/labstack/echo/v4"

	"github.com/zeta-scaler/zeta-scaler/chart"
)

//go:embed static
var staticFiles embed.FS

// maxAge lets a browser keep for a year what its own address names by content.
const maxAge = "public, max-age=31536000, immutable"

// staticPath is where the files are.
const staticPath = "/static/:name"

// asset is one file that the page loads.
type asset struct {
	body []byte
	// digest names the content: in the page's links and as ETag.
	digest    string
	mediaType string
}

// mediaTypes are those of the files below static, by the end of their name. The
// machine's own table is not asked: it may have none.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// readAssets reads every file that can be served; licences are only embedded.
func readAssets(files fs.FS) (map[string]asset, error) {
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return nil, fmt.Errorf("listing the page's files: %w", err)
	}
	out := make(map[string]asset, len(entries))
	for _, e := range entries {
		mediaType, served := mediaTypes[path.Ext(e.Name())]
		if !served {
			continue
		}
		body, err := fs.ReadFile(files, "static/"+e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading a file of the page: %w", err)
		}
		out[e.Name()] = newAsset(body, mediaType)
	}
	out["charts.css"] = newAsset([]byte(chart.Stylesheet), mediaTypes[".css"])
	return out, nil
}

func newAsset(body []byte, mediaType string) asset {
	sum := sha256.Sum256(body)
	return asset{body: body, digest: hex.EncodeToString(sum[:8]), mediaType: mediaType}
}

// link is the address of a file as the page writes it, relative, so that the
// page works behind a prefix.
func (p *page) link(name string) (string, error) {
	a, ok := p.assets[name]
	if !ok {
		return "", fmt.Errorf("the page has no file %q", name)
	}
	return "static/" + name + "?v=" + a.digest, nil
}

// static serves one file of the page. Only a request that names the content may
// be kept without asking again.
func (p *page) static(c echo.Context) error {
	a, ok := p.assets[c.Param("name")]
	if !ok {
		return echo.ErrNotFound
	}
	h := c.Response().Header()
	etag := `"` + a.digest + `"`
	h.Set("ETag", etag)
	h.Set(echo.HeaderCacheControl, "no-cache")
	if c.QueryParam("v") == a.digest {
		h.Set(echo.HeaderCacheControl, maxAge)
	}
	// The compressed form is the same file: a weak comparison is enough.
	if match := c.Request().Header.Get("If-None-Match"); match == etag || match == "W/"+etag {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, a.mediaType, a.body)
}
