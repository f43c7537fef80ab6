package wechat

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

const (
	keyBytes     = 32 // of an APIv3 key and of a v2 API key, each used as its ASCII text
	aeadAES256   = "AEAD_AES_256_GCM"
	aeadNonceLen = 12
)

var (
	errAlgorithm  = errors.New("resource.algorithm is not " + aeadAES256)
	errNonce      = errors.New("resource.nonce does not have 12 bytes")
	errCiphertext = errors.New("resource.ciphertext does not open with any APIv3 key")
	errReqInfo    = errors.New("req_info does not open with any API key")
)

func newAEADs(keys [][]byte) ([]cipher.AEAD, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no APIv3 key", ErrConfig)
	}
	aeads := make([]cipher.AEAD, 0, len(keys))
	for i, key := range keys {
		// AES would also take 16 or 24 bytes and then encrypt with another cipher than the documented one.
		if len(key) != keyBytes {
			return nil, fmt.Errorf("%w: APIv3 key %d does not have %d bytes", ErrConfig, i+1, keyBytes)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("%w: APIv3 key %d", ErrConfig, i+1)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("%w: APIv3 key %d", ErrConfig, i+1)
		}
		aeads = append(aeads, aead)
	}
	return aeads, nil
}

// open decrypts a notification's resource (WeChat Pay v3 docs, certificate and callback decryption). associated_data
// may be absent, which is the same as empty.
func (c *Client) open(resource *reader) ([]byte, error) {
	algorithm, nonce := resource.text("algorithm"), resource.text("nonce")
	ciphertext, associated := resource.text("ciphertext"), resource.text("associated_data")
	if resource.err != nil {
		return nil, resource.err
	}
	if algorithm != aeadAES256 {
		return nil, errAlgorithm
	}
	if len(nonce) != aeadNonceLen { // Open panics on any other length
		return nil, errNonce
	}
	sealed, err := base64.StdEncoding.DecodeString(ciphertext)
	if err != nil {
		return nil, errCiphertext
	}
	for _, aead := range c.aeads {
		if plain, err := aead.Open(nil, []byte(nonce), sealed, []byte(associated)); err == nil {
			return plain, nil
		}
	}
	return nil, errCiphertext
}

// newECBs prepares v2 keys for req_info: the AES key is the text of the API key's MD5 in small hexadecimal.
func newECBs(apiKeys []string) ([]cipher.Block, error) {
	blocks := make([]cipher.Block, 0, len(apiKeys))
	for i, key := range apiKeys {
		sum := md5.Sum([]byte(key))
		block, err := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
		if err != nil {
			return nil, fmt.Errorf("%w: API key %d", ErrConfig, i+1)
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// openReqInfo decrypts a v2 refund's req_info and reads the fields in it (WeChat Pay v2 docs, refund notification). It
// also returns the text itself, because one text has many forms in base64.
// ECB proves nothing by itself, so a key fits when what comes out is padded well and is the documented XML.
func (c *ClientV2) openReqInfo(reqInfo string) (fields map[string]string, plain []byte, err error) {
	sealed, err := base64.StdEncoding.DecodeString(reqInfo)
	if err != nil {
		return nil, nil, errReqInfo
	}
	for _, block := range c.blocks {
		plain, ok := openECB(block, sealed)
		if !ok {
			continue
		}
		if fields, err := flatXML(plain, "root"); err == nil {
			return fields, plain, nil
		}
	}
	return nil, nil, errReqInfo
}

// openECB decrypts block by block and takes off the padding of PKCS #7.
func openECB(block cipher.Block, sealed []byte) ([]byte, bool) {
	size := block.BlockSize()
	if len(sealed) == 0 || len(sealed)%size != 0 {
		return nil, false
	}
	plain := make([]byte, len(sealed))
	for at := 0; at < len(sealed); at += size {
		block.Decrypt(plain[at:at+size], sealed[at:at+size])
	}
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > size {
		return nil, false
	}
	content, padding := plain[:len(plain)-pad], plain[len(plain)-pad:]
	return content, bytes.Count(padding, padding[:1]) == pad
}
