package zeta

import (
	"context"
	"embed"

	"github.com/zeta-scaler/zeta-scaler/e2e/java"
)

// Version is the Zeta that is run: the newest one of which every jar is
// published.
const Version = "2.3.8"

//go:embed pom.xml src conf
var files embed.FS

// Install fetches Zeta's jars once per user. What the machine lacks is an error of
// java.Unavailable.
func Install(ctx context.Context) (java.Installation, error) {
	return java.Install(ctx, java.Program{Name: "zeta-" + Version, Files: files, Main: "src/ZetaNode.java"})
}
