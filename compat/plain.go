package compat

import (
	"crypto/sha256"
	"encoding/hex"
)

// plainMost is how long a uuid may be to go into logs and parameters as it is.
const plainMost = 128

// PlainUUID returns the job's uuid if it is fit for a log line and a parameter: 1 to 128 letters, digits and
// "._:-". Another one, which may hold anything and be of any length, is replaced by its SHA-256; "" stays "".
func (j Job) PlainUUID() string { return PlainUUID(j.UUID()) }

// PlainUUID is [Job.PlainUUID] for a uuid that was read already.
func PlainUUID(uuid string) string {
	if len(uuid) <= plainMost && IsPlain(uuid) {
		return uuid
	}
	sum := sha256.Sum256([]byte(uuid))
	return hex.EncodeToString(sum[:])
}

// Names reports whether name is uuid, or what [PlainUUID] shows in its place: what is shown can be asked for.
func Names(name, uuid string) bool {
	return name == uuid || IsSum(name) && name == PlainUUID(uuid)
}

// IsSum reports whether name may stand for a uuid that is not fit to be shown.
func IsSum(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == hex.EncodedLen(sha256.Size)
}

// IsPlain reports whether s holds only what means nothing anywhere: letters, digits and "._:-".
func IsPlain(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}
