package main

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"os"

	"github.com/paidonce/paidonce/channel"
	"github.com/paidonce/paidonce/channel/alipay"
	"github.com/paidonce/paidonce/channel/wechat"
	"github.com/paidonce/paidonce/sandbox"
)

// material is the parsed key material of one account.
type material struct {
	v3Keys       [][]byte                  // WeChat Pay v3: decrypt
	v2Keys       []string                  // WeChat Pay v2: sign
	platform     map[string]*rsa.PublicKey // WeChat Pay v3: verify, by serial or id
	public       []*rsa.PublicKey          // Alipay and Shouqianba: verify
	certificates map[string]*rsa.PublicKey // Alipay: verify, by serial
}

// withoutKeys reports whether the account configures no key material at all.
func (a accountConfig) withoutKeys() bool {
	return len(a.APIv3Keys)+len(a.APIKeys) == 0 &&
		len(a.PlatformCertificates)+len(a.Certificates)+len(a.PublicKeys) == 0
}

// usesDataKeys reports whether the account takes the keys of the data folder.
func (a accountConfig) usesDataKeys() bool { return a.Mode == modeSandbox && a.withoutKeys() }

// material reads the account's key files, or takes the keys of the data folder.
func (a accountConfig) material(path string, keys *sandbox.Keys) (material, error) {
	m := material{platform: map[string]*rsa.PublicKey{}, certificates: map[string]*rsa.PublicKey{}}
	if a.usesDataKeys() && keys != nil {
		return m, m.fromSandbox(a.Channel, keys)
	}
	for _, key := range a.APIv3Keys {
		m.v3Keys = append(m.v3Keys, []byte(key.reveal()))
	}
	for _, key := range a.APIKeys {
		m.v2Keys = append(m.v2Keys, key.reveal())
	}
	for name, files := range map[string][]string{"platform_certificates": a.PlatformCertificates,
		"certificates": a.Certificates} {
		for i, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				err = m.addCertificate(a.Channel, string(text))
			}
			if err != nil {
				return m, &problem{fmt.Sprintf("%s.%s[%d]", path, name, i), err}
			}
		}
	}
	for i, key := range a.PublicKeys {
		text, err := os.ReadFile(key.File)
		if err == nil {
			err = m.addPublicKey(a.Channel, key.ID, string(text))
		}
		if err != nil {
			return m, &problem{fmt.Sprintf("%s.public_keys[%d].file", path, i), err}
		}
	}
	return m, nil
}

func (m *material) fromSandbox(path string, keys *sandbox.Keys) error {
	switch path {
	case sandbox.WeChat:
		m.v3Keys = [][]byte{[]byte(keys.WeChatV3Key)}
		if err := m.addCertificate(path, keys.WeChatCertificate); err != nil {
			return err
		}
		return m.addPublicKey(path, keys.WeChatPublicKeyID, keys.WeChatPublicKey)
	case sandbox.WeChatV2:
		m.v2Keys = []string{keys.WeChatV2Key}
		return nil
	case sandbox.Alipay:
		return m.addPublicKey(path, "", keys.AlipayPublicKey)
	}
	return m.addPublicKey(path, "", keys.SQBPublicKey)
}

func (m *material) addCertificate(path, text string) error {
	parse, certificates := wechat.ParseCertificate, m.platform
	if path == sandbox.Alipay {
		parse, certificates = alipay.ParseCertificate, m.certificates
	}
	serial, key, err := parse(text)
	if err != nil {
		return err
	}
	certificates[serial] = key
	return nil
}

func (m *material) addPublicKey(path, id, text string) error {
	key, err := channel.ParsePublicKey(text)
	if err != nil {
		return err
	}
	if path == sandbox.WeChat {
		if m.platform[id] != nil {
			return errors.New("this id is there twice")
		}
		m.platform[id] = key
		return nil
	}
	m.public = append(m.public, key)
	return nil
}
