package sandbox

import (
	"net/http"
	"strings"
)

// AtRoot lets all channels of an API be asked at one host without a path before their own, as real channels are: what
// they call their paths tells them apart. The request line stays as it was sent, because it is signed.
func AtRoot(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for begin, channel := range map[string]string{"/v3/": WeChat, "/pay/": WeChatV2, "/gateway.do": Alipay,
			"/upay/": SQB, "/terminal/": SQB} {
			if !strings.HasPrefix(r.URL.Path, begin) {
				continue
			}
			inner := r.Clone(r.Context())
			inner.URL.Path, inner.URL.RawPath = "/"+channel+r.URL.Path, ""
			if r.URL.RawPath != "" {
				inner.URL.RawPath = "/" + channel + r.URL.RawPath
			}
			api.ServeHTTP(w, inner)
			return
		}
		api.ServeHTTP(w, r)
	})
}
