package channel_test

import (
	"testing"

	"github.com/paidonce/paidonce/channel"
)

func TestHidesField(t *testing.T) {
	read := []string{"total", "trade"}
	for value, want := range map[string]bool{
		"": false, "tea": false, "total=1": false, "a&b": false, "a&subtotal=1": false, "a&total": false, "a&totals=1": false,
		"a&Total=1": false, "a&total=": true, "&total=1": true, "a&b=1&trade=2&c=3": true, "a&&trade=": true,
	} {
		fields := map[string]string{"subject": value, "total": "1"}
		if got := channel.HidesField(fields, read); got != want {
			t.Errorf("%q: hides = %t, want %t", value, got, want)
		}
	}
}

func TestSignsField(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a=1&b=2": false, "method": false, "a=method=1": false, "a=1&method": false, "a=1&my_method=2": false,
		"method=1": true, "method=": true, "a=1&method=2": true, "a=1&method=2&z=3": true,
	} {
		if got := channel.SignsField([]byte(text), "method"); got != want {
			t.Errorf("%q: signs = %t, want %t", text, got, want)
		}
	}
}
