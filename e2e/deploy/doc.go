// Package deploy checks what users deploy: the compose file with the library that docker compose uses, and the Kubernetes
// manifests with the one that kubectl uses. It is a module of its own because nothing else needs these libraries; `make e2e`
// runs its tests.
package deploy

import (
	"fmt"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Render builds a kustomization as `kubectl kustomize DIR` does and returns its objects as a stream of YAML documents.
func Render(dir string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", dir, err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("writing %s as YAML: %w", dir, err)
	}
	return text, nil
}
