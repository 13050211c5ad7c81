package know

import "strings"

// homes maps an old import path of a library to the path under which the tables know it.
var homes = []struct{ old, now string }{
	{"github.com/Shopify/sarama", "github.com/IBM/sarama"},
	{"github.com/go-redis/redis", "github.com/redis/go-redis"},
	{"gopkg.in/redis", "github.com/redis/go-redis"},
	{"github.com/jackc/pgconn", "github.com/jackc/pgx/pgconn"},
	{"github.com/satori/go.uuid", "github.com/satori/go.uuid"},
	{"gopkg.in/confluentinc/confluent-kafka-go", "github.com/confluentinc/confluent-kafka-go"},
	{"github.com/gomodule/redigo", "github.com/gomodule/redigo"},
	{"github.com/garyburd/redigo", "github.com/gomodule/redigo"},
	{"github.com/go-gorm/gorm", "gorm.io/gorm"},
	{"github.com/jinzhu/gorm", "gorm.io/gorm"},
	{"github.com/go-pg/pg", "github.com/uptrace/bun"},
	{"gopkg.in/resty", "github.com/go-resty/resty"},
	{"github.com/bufbuild/connect-go", "connectrpc.com/connect"},
	{"resty.dev", "github.com/go-resty/resty"},
	{"entgo.io/ent", "entgo.io/ent"},
	{"github.com/facebook/ent", "entgo.io/ent"},
	{"go.mongodb.org/mongo-driver", "go.mongodb.org/mongo-driver"},
}

// Normal is the import path without major versions and under the library's present home, so that one row serves
// pgx v4 and v5, both homes of sarama, and go-redis v8 and v9. A vendor prefix is cut off.
func Normal(path string) string {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		path = path[i+len("/vendor/"):]
	}
	if strings.Contains(path, "/v") || strings.Contains(path, ".v") {
		parts := strings.Split(path, "/")
		out := parts[:0]
		for _, p := range parts {
			if isMajor(p) {
				continue
			}
			if i := strings.LastIndex(p, ".v"); i > 0 && isMajor(p[i+1:]) {
				p = p[:i]
			}
			out = append(out, p)
		}
		path = strings.Join(out, "/")
	}
	for _, h := range homes {
		if h.old != h.now && (path == h.old || strings.HasPrefix(path, h.old+"/")) {
			return h.now + path[len(h.old):]
		}
	}
	return path
}

func isMajor(s string) bool {
	if len(s) < 2 || s[0] != 'v' {
		return false
	}
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Under reports whether the normalised path is root or lies below it.
func Under(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
