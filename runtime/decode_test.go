package runtime_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

const (
	idA = "0192f3a0-1c2b-7def-8123-456789abcdef"
	idB = "0192f3a0-1c2b-7def-8123-456789abcde0"
)

func TestTheEventIDComesFromThePayload(t *testing.T) {
	cases := map[string]struct {
		fields  []string
		payload string
		want    string // empty: ErrNoEventID
	}{
		"camel case":             {nil, `{"eventId":"` + idA + `"}`, idA},
		"snake case":             {nil, `{"event_id":"` + idA + `"}`, idA},
		"both, alike":            {nil, `{"event_id":"` + idA + `","eventId":"` + idA + `"}`, idA},
		"both, different":        {nil, `{"event_id":"` + idA + `","eventId":"` + idB + `"}`, ""},
		"repeated, alike":        {nil, `{"eventId":"` + idA + `","eventId":"` + idA + `"}`, idA},
		"repeated, different":    {nil, `{"eventId":"` + idA + `","eventId":"` + idB + `"}`, ""},
		"other case":             {nil, `{"EVENTID":"` + idA + `"}`, ""},
		"inside another object":  {nil, `{"order":{"eventId":"` + idB + `"}}`, ""},
		"after nested ones":      {nil, `{"order":{"eventId":"` + idB + `","x":[{"eventId":1}]},"eventId":"` + idA + `"}`, idA},
		"after a tricky string":  {nil, `{"a":"\",\"eventId\":\"` + idB + `","eventId":"` + idA + `"}`, idA},
		"escaped name":           {nil, `{"event\u0049d":"` + idA + `"}`, idA},
		"escaped value":          {nil, `{"eventId":"\u0030` + idA[1:] + `"}`, idA},
		"upper case digits":      {nil, `{"eventId":"0192F3A0-1C2B-7DEF-8123-456789ABCDEF"}`, idA},
		"spaces":                 {nil, " {\n\t\"eventId\" : \"" + idA + "\" , \"n\" : -1.5e3 } ", idA},
		"number":                 {nil, `{"eventId":7}`, ""},
		"null":                   {nil, `{"eventId":null}`, ""},
		"no UUID":                {nil, `{"eventId":"7"}`, ""},
		"nil UUID":               {nil, `{"eventId":"00000000-0000-0000-0000-000000000000"}`, ""},
		"empty object":           {nil, `{}`, ""},
		"configured":             {[]string{"id"}, `{"eventId":"` + idB + `","id":"` + idA + `"}`, idA},
		"configured path":        {[]string{"meta.id"}, `{"id":"` + idB + `","meta":{"id":"` + idA + `"}}`, idA},
		"path through no object": {[]string{"meta.id"}, `{"meta":["id"]}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var into map[string]any
			rec := &kgo.Record{Value: []byte(tc.payload), Headers: []kgo.RecordHeader{{Key: "eventId", Value: []byte(idB)}}}
			got, err := runtime.JSON{IDFields: tc.fields}.Decode(rec, &into)
			if tc.want == "" {
				if !errors.Is(err, runtime.ErrNoEventID) {
					t.Errorf("Decode returned %s, %v, want ErrNoEventID", got, err)
				}
				return
			}
			if err != nil || got.String() != tc.want {
				t.Errorf("Decode returned %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestMalformedPayloadsAreRefused(t *testing.T) {
	for _, payload := range []string{"", "null", "[]", "{", `{"eventId":"` + idA + `"`, `{"eventId":"` + idA + `"} x`, `{"eventId" "` + idA + `"}`, "\xff"} {
		var into map[string]any
		if id, err := (runtime.JSON{}).Decode(&kgo.Record{Value: []byte(payload)}, &into); err == nil {
			t.Errorf("payload %q gave event id %s", payload, id)
		}
	}
}

// FuzzEventID compares the search for the event id with encoding/json: on valid
// documents both find the same top-level values, and nothing panics.
func FuzzEventID(f *testing.F) {
	for _, seed := range []string{
		`{"eventId":"` + idA + `"}`, `{"a":{"eventId":1},"eventId":"` + idB + `"}`, `{"event\u0049d":"x"}`,
		`[1,{"eventId":2}]`, `{"a":"\\","eventId":"\""}`, `{`, `"`, `{"a":[[[]]],"b":{}}`, "{\"a\":1e5}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := runtime.JSON{IDFields: []string{"eventId"}}.EventID(document)
		var members map[string]json.RawMessage
		if json.Unmarshal(document, &members) != nil || repeats(document) {
			return
		}
		var text string
		want, wantErr := uuid.Nil, error(runtime.ErrNoEventID)
		if raw, ok := members["eventId"]; ok && json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
			if want, wantErr = uuid.Parse(text); want == uuid.Nil || want == uuid.Max {
				want, wantErr = uuid.Nil, runtime.ErrNoEventID
			}
		}
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) && err == nil {
			t.Errorf("EventID(%q) is %s, %v; encoding/json and uuid say %s, %v", document, got, err, want, wantErr)
		}
	})
}

// repeats tells whether a document may repeat a member, of which encoding/json
// keeps only the last.
func repeats(document []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(document))
	seen := map[string]bool{}
	depth := 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 {
				if seen[v] {
					return true
				}
				seen[v] = true
			}
		}
	}
}
