package kubernetes

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/zeta-scaler/zeta-scaler/state"
)

// Labels and annotations of our ConfigMaps.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "zeta-scaler"
	// stateLabel holds the name of the store, so that two in one namespace do
	// not see each other.
	stateLabel = "zeta-scaler.io/state"
	partLabel  = "zeta-scaler.io/part"
	// scopeAnnotation holds the key, for people.
	scopeAnnotation = "zeta-scaler.io/scope"
)

// Values of partLabel.
const (
	rootPart = "root"
	pagePart = "scope"
)

// maxName leaves room for what is appended, within the 63 characters of a
// label.
const maxName = 40

// names derives the names of all ConfigMaps from that of the root.
type names struct{ namespace, root string }

func newNames(namespace, root string) (names, error) {
	if problems := validation.IsDNS1123Label(root); len(problems) > 0 || len(root) > maxName {
		return names{}, fmt.Errorf("%w: name %q of the state's ConfigMaps is no DNS label of at most %d characters",
			state.ErrInvalid, root, maxName)
	}
	return names{namespace: namespace, root: root}, nil
}

// page is the name of the page of a key. Keys may be long and hold any
// characters, so the name holds a hash.
func (n names) page(key string) string { return n.root + "-" + hash(key) }

func (n names) selector() string {
	return managedByLabel + "=" + managedBy + "," + stateLabel + "=" + n.root
}

func (n names) meta(name, part string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: n.namespace, Name: name,
		Labels: map[string]string{managedByLabel: managedBy, stateLabel: n.root, partLabel: part},
	}
}

// hash is 80 bits: no two of a million keys share one.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// newID names one commit among all that anybody may try.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// inRoot reports whether records of the kind belong to no scope.
func inRoot(kind state.Kind) bool { return kind == state.Leader || kind == state.Tick }
