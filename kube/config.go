package kube

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// namespaceFile is where a pod finds the namespace that it runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// load reads the kubeconfig file, or the service account of the pod if path is
// empty. The namespace is the one of the current context or of the pod, empty
// if neither names one.
func load(path string) (config *rest.Config, namespace string, err error) {
	if path == "" {
		return inCluster()
	}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, nil)
	if config, err = loaded.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	if namespace, _, err = loaded.Namespace(); err != nil {
		return nil, "", fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	return config, namespace, nil
}

func inCluster() (*rest.Config, string, error) {
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, "", fmt.Errorf("not in a pod: set kubeconfig: %w", err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the pod's service account: %w", err)
	}
	b, err := os.ReadFile(namespaceFile)
	if err != nil {
		return nil, "", fmt.Errorf("reading the pod's namespace: %w", err)
	}
	return config, strings.TrimSpace(string(b)), nil
}
