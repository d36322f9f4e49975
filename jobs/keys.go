package jobs

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// keyBytes is the length of a key: AES-256.
const keyBytes = 32

// maxKeys is how many keys are read.
const maxKeys = 16

// Keys seal configs, and open what they or older ones have sealed.
type Keys struct{ ciphers []cipher.AEAD }

// ParseKeys reads keys, one a line: 32 bytes in base64. The first seals, all of
// them open, so that a key is changed by putting a new line on top. Its errors
// never quote a line.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("line %d is not a key of %d bytes in base64; make one with: openssl rand -base64 %d", i+1, keyBytes, keyBytes)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		if k.ciphers = append(k.ciphers, aead); len(k.ciphers) > maxKeys {
			return nil, fmt.Errorf("there are more than %d keys", maxKeys)
		}
	}
	if len(k.ciphers) == 0 {
		return nil, fmt.Errorf("there is no key; make one with: openssl rand -base64 %d", keyBytes)
	}
	return k, nil
}

// errNoKey says that none of the keys has sealed it, or that it was changed.
var errNoKey = errors.New("none of the keys opens it: the key that sealed it is missing, or what is stored was changed")

// seal encrypts. Only who knows what it is about opens it.
func (k *Keys) seal(plain []byte, about string) []byte {
	return k.ciphers[0].Seal(nil, nil, plain, []byte(about))
}

func (k *Keys) open(sealed []byte, about string) ([]byte, error) {
	for _, c := range k.ciphers {
		if plain, err := c.Open(nil, nil, sealed, []byte(about)); err == nil {
			return plain, nil
		}
	}
	return nil, errNoKey
}
