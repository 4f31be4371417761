package dash

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// assets are the style sheet, the script and the icon. Their links name their content, so that browsers keep them for good.
type assets struct {
	content map[string][]byte
	sums    map[string]string
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func newAssets() assets {
	a := assets{content: map[string][]byte{}, sums: map[string]string{}}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(fmt.Sprintf("dash: embedded assets: %v", err))
	}
	for _, entry := range entries {
		content, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic(fmt.Sprintf("dash: embedded assets: %v", err))
		}
		sum := sha256.Sum256(content)
		a.content[entry.Name()] = content
		a.sums[entry.Name()] = hex.EncodeToString(sum[:6])
	}
	return a
}

// link is the relative link to an asset.
func (a assets) link(name string) string { return "assets/" + name + "?v=" + a.sums[name] }

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, there := a.content[name]
	if !there {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.sums[name] {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
