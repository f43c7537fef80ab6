package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// source is a configuration file as it was read. It finds the line of a mistake.
type source struct {
	path string
	text []byte
}

// readConfig decodes a file strictly: an unknown key, or one that is there twice, is an error.
func (a *app) readConfig(path string) (*config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	s := &source{path, text}
	c := &config{}
	if file, err := parser.ParseBytes(text, 0); err == nil { // the decoder reports what cannot be parsed
		if err := s.unambiguous(file); err != nil {
			return nil, err
		}
	}
	if err := yaml.UnmarshalWithOptions(text, c, yaml.Strict()); err != nil {
		return nil, s.explain(err)
	}
	c.source = s // after decoding, which clears everything when a document is empty
	if err := a.resolve(c); err != nil {
		return nil, s.locate(err)
	}
	c.withDefaults()
	return c, nil
}

// unambiguous refuses what YAML allows and a person may not have meant: a second document, which would be ignored, and
// numbers that are not plain decimal ones, which would become other texts (0x10 is 16).
func (s *source) unambiguous(file *ast.File) error {
	if len(file.Docs) > 1 {
		return s.at(file.Docs[1].Start.Position.Line, 1, errors.New("a configuration is one YAML document"))
	}
	var numbers []ast.Node
	for _, document := range file.Docs {
		if document.Body == nil { // an empty file
			continue
		}
		numbers = append(numbers, ast.Filter(ast.IntegerType, document)...)
		numbers = append(numbers, ast.Filter(ast.FloatType, document)...)
	}
	for _, node := range numbers {
		said := errors.New("put this value into quotes")
		form := plainNumber
		if strings.HasSuffix(node.GetPath(), ".tenant") {
			said, form = errTenant, positiveNumber
		}
		if token := node.GetToken(); !form.MatchString(token.Value) {
			return s.at(token.Position.Line, token.Position.Column, said)
		}
	}
	return nil
}

// errTenant is said of everything else that stands for a tenant.
var errTenant = errors.New("a tenant is a whole number from 1")

var (
	plainNumber    = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)
	positiveNumber = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)
)

// resolve replaces ${NAME} by the environment, reads secrets that have files of their own, and makes paths relative to
// the configuration's folder.
func (a *app) resolve(c *config) error {
	folder := filepath.Dir(c.source.path)
	c.Data = within(folder, c.Data)
	if err := a.secretOrFile(folder, "$.database.url", &c.Database.URL, c.Database.URLFile); err != nil {
		return err
	}
	if file, ok := strings.CutPrefix(c.Database.URL.reveal(), "sqlite:"); ok && file != "" {
		c.Database.URL = secret("sqlite:" + within(folder, file))
	}
	for i := range c.Accounts {
		account := &c.Accounts[i]
		path := fmt.Sprintf("$.accounts[%d]", i)
		for _, list := range []struct {
			name string
			keys *[]secret
			file string
		}{{"api_v3_keys", &account.APIv3Keys, account.APIv3KeysFile}, {"api_keys", &account.APIKeys, account.APIKeysFile}} {
			if err := a.secretList(folder, path+"."+list.name, list.keys, list.file); err != nil {
				return err
			}
		}
		for _, files := range [][]string{account.PlatformCertificates, account.Certificates} {
			for j := range files {
				files[j] = within(folder, files[j])
			}
		}
		for j := range account.PublicKeys {
			account.PublicKeys[j].File = within(folder, account.PublicKeys[j].File)
		}
		if err := account.Ask.resolve(a, folder, path+".ask"); err != nil {
			return err
		}
	}
	return nil
}

func within(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// secretOrFile resolves one secret that may stand in the file or in a file of its own.
func (a *app) secretOrFile(folder, path string, value *secret, file string) error {
	if file == "" {
		return a.expand(folder, path, value)
	}
	if *value != "" {
		return problemf(path, "given here and as *_file; only one may be")
	}
	text, err := os.ReadFile(within(folder, file))
	if err != nil {
		return &problem{path + "_file", err}
	}
	*value = secret(strings.TrimSpace(string(text)))
	return nil
}

// secretList resolves secrets that may stand in the file, or one a line in a file of their own.
func (a *app) secretList(folder, path string, values *[]secret, file string) error {
	if file == "" {
		for i := range *values {
			if err := a.expand(folder, fmt.Sprintf("%s[%d]", path, i), &(*values)[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(*values) > 0 {
		return problemf(path, "given here and as *_file; only one may be")
	}
	text, err := os.ReadFile(within(folder, file))
	if err != nil {
		return &problem{path + "_file", err}
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			*values = append(*values, secret(line))
		}
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand reads a secret that is written file:PATH, or replaces every ${NAME} in it. What a file holds is taken as it
// is. A variable that is not set and a file that is empty are errors, never an empty secret.
func (a *app) expand(folder, path string, value *secret) error {
	if file, ok := strings.CutPrefix(value.reveal(), "file:"); ok {
		text, err := os.ReadFile(within(folder, file))
		var detailed *fs.PathError
		if errors.As(err, &detailed) {
			err = detailed.Err // the path might be a secret that happens to begin like this
		}
		if err != nil {
			return problemf(path, "the file that it names cannot be read: %w", err)
		}
		if *value = secret(strings.TrimSpace(string(text))); *value == "" {
			return problemf(path, "the file that it names is empty")
		}
		return nil
	}
	missing := ""
	text := variable.ReplaceAllStringFunc(value.reveal(), func(use string) string {
		name := use[2 : len(use)-1]
		found, ok := a.Lookup(name)
		if !ok || found == "" {
			missing = name
		}
		return found
	})
	if missing != "" {
		return problemf(path, "the environment variable %s is not set", missing)
	}
	*value = secret(text)
	return nil
}

// explain turns an error of the YAML decoder into one that names the place. The decoder's own text would quote the
// lines around the mistake, and some messages quote a value; either may be a secret.
func (s *source) explain(err error) error {
	var detailed yaml.Error
	if !errors.As(err, &detailed) || detailed.GetToken() == nil {
		return fmt.Errorf("%s: this is not the YAML of a configuration", s.path)
	}
	said := detailed.GetMessage()
	var syntax *yaml.SyntaxError
	var overflow *yaml.OverflowError
	quotes := errors.As(err, &syntax) && strings.Contains(said, `"`) && !strings.HasPrefix(said, "mapping key ")
	if quotes || errors.As(err, &overflow) {
		said = "this value cannot be read"
	}
	var mistyped *yaml.TypeError
	if errors.As(err, &mistyped) {
		said = fmt.Sprintf("%s is expected here, not %s", kindInWords(mistyped.DstType), kindInWords(mistyped.SrcType))
	}
	position := detailed.GetToken().Position
	return s.at(position.Line, position.Column, errors.New(said))
}

func kindInWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "a mapping"
	}
	return "a number"
}

// locate adds the place in the file to a problem. Other errors, and those of a configuration without a file, stay as
// they are.
func (s *source) locate(err error) error {
	var p *problem
	if s == nil || !errors.As(err, &p) {
		return err
	}
	file, parseErr := parser.ParseBytes(s.text, 0)
	if parseErr != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	for path := p.path; path != "$" && path != ""; path = parent(path) {
		if node := find(file, path); node != nil {
			position := node.GetToken().Position
			return s.at(position.Line, position.Column, err)
		}
	}
	return fmt.Errorf("%s: %w", s.path, err)
}

// find returns the node at a path; of a mapping's value it returns the key, because that is where people look.
func find(file *ast.File, path string) ast.Node {
	query, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	node, err := query.FilterFile(file)
	if err != nil || node == nil || node.GetToken() == nil {
		return nil
	}
	if mapping, ok := node.(*ast.MappingNode); ok && len(mapping.Values) > 0 {
		return mapping.Values[0].Key
	}
	return node
}

func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }
