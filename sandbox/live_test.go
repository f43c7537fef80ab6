package sandbox_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/paidonce/paidonce/sandbox"
)

// realSQB is the public key that Shouqianba signs real callbacks with, as its integrations print it.
const realSQB = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA5+MNqcjgw4bsSWhJfw2M+gQB7P+pEiYOfvRmA6kt7Wisp0J3JbOtsLXG" +
	"nErn5ZY2D8KkSAHtMYbeddphFZQJzUbiaDi75GUAG9XS3MfoKAhvNkK15VcCd8hFgNYCZdwEjZrvx6Zu1B7c29S64LQPHceS0nyX" +
	"F8DwMIVRcIWKy02cexgX0UmUPE0A2sJFoV19ogAHaBIhx5FkTy+eeBJEbU03Do97q5G9IN1O3TssvbYBAzugz+yUPww2LadaKexh" +
	"JGg+5+ufoDd0+V3oFL0/ebkJvD0uiBzdE3/ci/tANpInHAUDIHoWZCKxhn60f3/3KiR8xuj2vASgEqphxT5OfwIDAQAB"

func TestNewKeepsAwayFromEverythingLive(t *testing.T) {
	keys := newKeys(t)
	der, err := base64.StdEncoding.DecodeString(realSQB)
	if err != nil {
		t.Fatal(err)
	}
	liveKeys := *keys
	liveKeys.SQBPublicKey = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	at := func(url string) func(*sandbox.Options) {
		return func(o *sandbox.Options) { o.Accounts[2].NotifyURL = url }
	}
	for name, test := range map[string]struct {
		change func(*sandbox.Options)
		want   error
	}{
		"a sandbox":             {func(*sandbox.Options) {}, nil},
		"localhost":             {at("http://localhost:8080/notify"), nil},
		"all of 127.0.0.0/8":    {at("https://127.8.9.10/notify"), nil},
		"IPv6":                  {at("http://[::1]:8080/notify"), nil},
		"a live account":        {func(o *sandbox.Options) { o.Accounts[3].Mode = "live" }, sandbox.ErrLive},
		"an account of no mode": {func(o *sandbox.Options) { o.Accounts[0].Mode = "" }, sandbox.ErrLive},
		"another machine":       {at("https://pay.example.com/notify"), sandbox.ErrLive},
		"the local network":     {at("http://192.168.1.5/notify"), sandbox.ErrLive},
		"every address":         {at("http://0.0.0.0:8080/notify"), sandbox.ErrLive},
		"a name like loopback":  {at("http://127.0.0.1.example.com/"), sandbox.ErrLive},
		"loopback as the user":  {at("http://127.0.0.1:80@example.com/"), sandbox.ErrLive},
		"an address as number":  {at("http://2130706433/"), sandbox.ErrLive},
		"no machine":            {at("http:///notify"), sandbox.ErrLive},
		"the real SQB key":      {func(o *sandbox.Options) { o.Keys = &liveKeys }, sandbox.ErrLive},
	} {
		options := sandbox.Options{Keys: keys, Accounts: accounts(nowhere), Clock: now}
		test.change(&options)
		if _, err := sandbox.New(options); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestNewRefusesAnIncompleteConfiguration(t *testing.T) {
	keys := newKeys(t)
	with := func(change func(*sandbox.Keys)) func(*sandbox.Options) {
		return func(o *sandbox.Options) {
			spoiled := *keys
			change(&spoiled)
			o.Keys = &spoiled
		}
	}
	for name, change := range map[string]func(*sandbox.Options){
		"no keys":            func(o *sandbox.Options) { o.Keys = nil },
		"no clock":           func(o *sandbox.Options) { o.Clock = nil },
		"no accounts":        func(o *sandbox.Options) { o.Accounts = nil },
		"no name":            func(o *sandbox.Options) { o.Accounts[0].Name = "" },
		"no tenant":          func(o *sandbox.Options) { o.Accounts[0].Tenant = 0 },
		"an unknown channel": func(o *sandbox.Options) { o.Accounts[0].Channel = "paypal" },
		"an account twice":   func(o *sandbox.Options) { o.Accounts[1] = o.Accounts[0] },
		"no URL":             func(o *sandbox.Options) { o.Accounts[0].NotifyURL = "" },
		"not HTTP":           func(o *sandbox.Options) { o.Accounts[0].NotifyURL = "ftp://127.0.0.1/" },
		"no private key":     with(func(k *sandbox.Keys) { k.AlipayKey = "" }),
		"a public key":       with(func(k *sandbox.Keys) { k.AlipayKey = k.AlipayPublicKey }),
		"no certificate":     with(func(k *sandbox.Keys) { k.WeChatCertificate = k.WeChatV2Key }),
		"not a certificate":  with(func(k *sandbox.Keys) { k.WeChatCertificate = k.WeChatPublicKey }),
		"a short v3 key":     with(func(k *sandbox.Keys) { k.WeChatV3Key = k.WeChatV3Key[:16] }),
		"no v2 key":          with(func(k *sandbox.Keys) { k.WeChatV2Key = "" }),
		"no SQB key":         with(func(k *sandbox.Keys) { k.SQBPublicKey = "" }),
	} {
		options := sandbox.Options{Keys: keys, Accounts: accounts(nowhere), Clock: now}
		change(&options)
		if box, err := sandbox.New(options); err == nil || box != nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), keys.WeChatV2Key) {
			t.Errorf("%s: the error shows a key: %v", name, err)
		}
	}
}

// Keys live in a file between two runs: every field is written, and what the copy signs verifies under the original.
func TestKeysSurviveTheirFile(t *testing.T) {
	keys := newKeys(t)
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	if want := reflect.TypeFor[sandbox.Keys]().NumField(); len(fields) != want {
		t.Errorf("%d fields written, want %d", len(fields), want)
	}
	for name, value := range fields {
		if value == "" {
			t.Errorf("%s is empty", name)
		}
	}
	var again sandbox.Keys
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(&again, keys) {
		t.Fatalf("read back: %v, or other keys", err)
	}
	box := newBox(t, &again, 1, nowhere)
	for _, channel := range channels() {
		for _, fact := range facts(t, box, channel) {
			if !read(t, channel, keys, notification(t, box, fact, sandbox.Variant{})).genuine {
				t.Errorf("%s: %T is not genuine under the keys before they were written", channel, fact)
			}
		}
	}
}

func TestTheFormOfTheKeys(t *testing.T) {
	keys, others := newKeys(t), newKeys(t)
	if *keys == *others {
		t.Error("two sandboxes have the same keys")
	}
	for text, pattern := range map[string]string{
		keys.WeChatPublicKeyID: `^PUB_KEY_ID_0[0-9]{28}$`,
		keys.WeChatV2Key:       `^[0-9a-f]{32}$`,
		keys.WeChatV3Key:       `^[0-9a-f]{32}$`,
		keys.AlipayBareKey():   `^MIIB[0-9A-Za-z+/=]{388}$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%q does not have the form %s", text, pattern)
		}
	}
	cert := certificate(t, keys.WeChatCertificate)
	if err := cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil {
		t.Errorf("not signed by itself: %v", err)
	}
	if !cert.NotBefore.Before(now()) || !cert.NotAfter.After(now().AddDate(4, 0, 0)) || cert.SerialNumber.BitLen() != 159 {
		t.Errorf("valid from %s to %s, serial of %d bits", cert.NotBefore.Format(time.RFC3339),
			cert.NotAfter.Format(time.RFC3339), cert.SerialNumber.BitLen())
	}
}
