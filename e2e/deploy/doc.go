package deploy

import (
_ "github.com/compose-spec/compose-go/v2/cli"
_ "github.com/stretchr/testify/require"
_ "sigs.k8s.io/kustomize/api/krusty"
_ "sigs.k8s.io/kustomize/kyaml/filesys"
)
