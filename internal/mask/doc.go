// Package mask hides what nobody needs to see in order to put a queue right: passwords, tokens, phone and identity
// numbers, and the fields that the configuration names. It changes only what is shown, never what is stored.
//
// It works on the bytes of a JSON text: values are replaced by "***", all else stays as it was written, so that what is
// shown still is what stands in Redis. A field is hidden whatever it holds; in all other values what looks like a phone
// number, an identity number or a secret beside its name is hidden.
package mask

// Hidden stands where something was.
const Hidden = "***"
