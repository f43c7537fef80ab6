package channel

import "strings"

// HidesField reports whether the value of any field holds "&name=" for one of the names that are read.
//
// Where a channel signs fields as name=value joined by "&" without escaping (Alipay, WeChat Pay v2), one signed text
// can be cut into fields in many ways, and each of them verifies. Whoever has captured a message, or chose a part of
// one (an echo such as attach, a subject), can hide a field in the value before it, or bring one out of a value.
//
// If no value hides a name that is read, and if no value that is read holds a separator itself, then every cut that
// passes has the same fields under these names: what stands at the beginnings of the text's pieces. It says one
// thing only, whoever made the cut. A field that the channel may leave out is the exception: it can be brought out of a
// value where the channel wrote none, so what it adds must not be worth anything.
func HidesField(fields map[string]string, names []string) bool {
	for _, value := range fields {
		if !strings.Contains(value, "&") {
			continue
		}
		for _, name := range names {
			if strings.Contains(value, "&"+name+"=") {
				return true
			}
		}
	}
	return false
}

// SignsField reports whether a signed text of that form has a piece for the name: whether some cut of it has such a
// field. Unlike a look into the fields, no other cut changes the answer.
func SignsField(signed []byte, name string) bool {
	text := "&" + string(signed)
	return strings.Contains(text, "&"+name+"=")
}
