package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// fromEvent reports whether a key can tell events apart: it is made of something of the message.
func fromEvent(t Taint) bool {
	return t.has(FromPayload | FromMessage | FromEventID | FromKey | FromHeader | FromOffset)
}

// renewed reports whether a key is another one on every delivery. One with something of the message in it is, too, when
// a random part or a moment is put to it; the day is none, nor is what nobody can see.
func (w *walker) renewed(v *Value) bool {
	t := w.deep(v)
	return t.has(FromV4|FromFresh) && (!fromEvent(t) || v.O == nil && !t.has(FromCoarse|FromUnseen|FromRow))
}

// keyOf is the part of a key that does not change, to tell which keys belong together.
func keyOf(v *Value) string {
	if v.K == VStr {
		return v.S
	}
	return string(rune(sqltext.Hole))
}

// redis does what a Redis command does. A command's value is its outcome; Result and Val take it apart.
func (w *walker) redis(ins *Instr, row *know.Row, recv *Value, args []*Value) []exit {
	key := at(args, row.Arg)
	if ks := w.variadic(args, row.Arg); row.Arg >= 0 && len(ks) > 0 && key.K == VRef {
		key = ks[0]
	}
	cmd := func(val, errv *Value, s *site) []exit {
		return []exit{{[]*Value{{K: VTuple, Elems: []*Value{val, errv}, Dyn: "redis.Cmd", Site: s}}, w.st}}
	}
	fresh := w.renewed(key)
	switch row.Kind {
	case know.RedisSetNX, know.RedisSAdd:
		if row.Kind == know.RedisSAdd {
			if m := w.variadic(args, row.Arg2); len(m) > 0 {
				key = m[0]
			}
			fresh = w.renewed(key) || !fromEvent(w.deep(key))
		}
		if fresh || w.lockName(key) {
			if row.Kind == know.RedisSetNX {
				return cmd(top, nilVal, nil)
			}
			w.naturally(ins, EffRedis, "Redis "+ins.Call.Name, "", nil)
			return cmd(top, nilVal, nil)
		}
		w.in.sink(Sink{Kind: SinkSetNX, Name: ins.Call.Name, Pos: ins.Call.At}, key, w)
		s := &site{Pos: ins.Call.At, Desc: "Redis " + ins.Call.Name, Store: "redis"}
		o := w.check(s)
		val := boolVal(o == outFresh)
		if row.Kind == know.RedisSAdd {
			val = &Value{K: VInt, I: b2i(o == outFresh), Site: s}
		}
		errv := nilVal
		if o == outFail {
			errv = &Value{K: VErr, S: errFail, Site: s}
		}
		return cmd(val, errv, s)
	case know.RedisGet, know.RedisExists, know.RedisSMember:
		k := key
		if row.Kind == know.RedisSMember {
			if m := w.variadic(args, row.Arg2); len(m) > 0 {
				k = m[0]
			}
		}
		if fromEvent(w.deep(k)) && (w.in.wrote["redis:"+keyOf(key)] || w.deep(k).has(FromEventID) && row.Kind != know.RedisGet) {
			w.in.sink(Sink{Kind: SinkSetNX, Name: ins.Call.Name, Pos: ins.Call.At}, k, w)
			s := &site{Pos: ins.Call.At, Desc: "Redis " + ins.Call.Name, Store: "redis", Look: true, Place: "redis:" + keyOf(key)}
			o := w.check(s)
			switch {
			case o == outFail:
				return cmd(zeroOf(row.Kind), &Value{K: VErr, S: errFail, Site: s}, s)
			case row.Kind == know.RedisGet && o == outDup:
				return cmd(&Value{K: VNotNil, T: redisRow(key).taint("*")}, nilVal, s)
			case row.Kind == know.RedisGet:
				return cmd(strVal("", Taint{}), &Value{K: VErr, S: errNoRows, Site: s}, s)
			case row.Kind == know.RedisExists:
				return cmd(&Value{K: VInt, I: b2i(o == outDup), Site: s}, nilVal, s)
			}
			return cmd(boolVal(o == outDup), nilVal, s)
		}
		if row.Kind == know.RedisGet {
			st := w.st.fork()
			out := cmd(taintVal(redisRow(key).taint("*")), nilVal, nil)
			return append(out, exit{[]*Value{{K: VTuple, Elems: []*Value{strVal("", redisRow(key).taint("*")), {K: VErr, S: errNoRows}}, Dyn: "redis.Cmd"}}, st})
		}
		return cmd(top, nilVal, nil)
	case know.RedisSet:
		for _, v := range append([]*Value{at(args, row.Arg2)}, w.variadic(args, row.Arg2)...) {
			if row.Arg2 >= 0 && w.writtenBack(v, "redis", "*", redisRow(key).keys) {
				w.effect(ins, EffRedis, "Redis "+ins.Call.Name+" "+shown(key), nil)
				return cmd(top, nilVal, nil)
			}
		}
		w.in.wrote["new:redis:"+keyOf(key)] = true
		w.naturally(ins, EffRedis, "Redis "+ins.Call.Name, "redis:"+keyOf(key), nil)
		if w.setsNX(args) && !fresh {
			s := &site{Pos: ins.Call.At, Desc: "Redis " + ins.Call.Name, Store: "redis"}
			switch w.check(s) {
			case outDup:
				return cmd(strVal("", Taint{}), &Value{K: VErr, S: errNoRows, Site: s}, s)
			case outFail:
				return cmd(strVal("", Taint{}), &Value{K: VErr, S: errFail, Site: s}, s)
			}
			return cmd(&Value{K: VNotNil}, nilVal, s)
		}
		return cmd(top, nilVal, nil)
	case know.RedisDel:
		w.in.windowed(ins, key)
		w.naturally(ins, EffRedis, "Redis "+ins.Call.Name, "", nil)
		return cmd(top, nilVal, nil)
	case know.RedisWrite:
		w.in.windowed(ins, key)
		w.effect(ins, EffRedis, "Redis "+ins.Call.Name+" "+shown(key), nil)
		return cmd(top, nilVal, nil)
	case know.RedisScript:
		return w.script(ins, recv, args, row.Arg, cmd)
	case know.RedisNewLua:
		return []exit{{[]*Value{key}, w.st}}
	case know.RedisDo:
		if row.Arg2 < 0 {
			return w.command(ins, w.variadic(args, row.Arg))
		}
		return w.redigo(ins, text(at(args, row.Arg)), w.variadic(args, row.Arg2))
	case know.RedisResult:
		return w.result(ins, recv, args)
	}
	return w.quiet(ins)
}

// redisRow is the value of a key.
func redisRow(key *Value) *rowRead { return newRowRead("redis", map[string]*Value{"key": key}) }

// lockName reports whether a key says that it is a lock: it is held, not remembered.
func (w *walker) lockName(key *Value) bool {
	f := strings.ToLower(keyOf(key))
	return strings.Contains(f, "lock") || strings.Contains(f, "mutex") || strings.Contains(f, "lease") || strings.Contains(f, "throttle")
}

func (w *walker) setsNX(args []*Value) bool {
	for _, a := range args {
		if a.O != nil {
			if m := w.find(a.O, join(w.pathAt(a), "Mode"), nil, 0); m != nil && m.K == VStr && strings.EqualFold(m.S, "NX") {
				return true
			}
		}
	}
	return false
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func zeroOf(k know.Kind) *Value {
	switch k {
	case know.RedisGet:
		return strVal("", Taint{})
	case know.RedisExists:
		return &Value{K: VInt}
	}
	return vFalse
}

// script is a Lua script: one that sets a key if it is absent is a check, and so is one that looks whether a key is
// there and sets it. Any other may write anything.
func (w *walker) script(ins *Instr, recv *Value, args []*Value, keys int, cmd func(val, errv *Value, s *site) []exit) []exit {
	txt := ""
	for _, a := range append([]*Value{recv}, args...) {
		if a != nil && a.K == VStr {
			txt += " " + strings.ToLower(a.S)
		}
	}
	ks := w.elements(at(args, keys))
	for _, k := range ks {
		if w.lockName(k) || w.renewed(k) {
			return cmd(top, nilVal, nil) // a lock, or a key that is another one each time
		}
	}
	once, asks := onceScript(txt)
	if !once {
		return cmd(top, nilVal, nil)
	}
	for _, k := range ks {
		w.in.sink(Sink{Kind: SinkSetNX, Name: ins.Call.Name, Pos: ins.Call.At}, k, w)
	}
	s := &site{Pos: ins.Call.At, Desc: "Redis script", Store: "redis"}
	o := w.check(s)
	if o == outFail {
		return cmd(top, &Value{K: VErr, S: errFail, Site: s}, s)
	}
	// Which number a script that looks first gives for a repeat, its program decides.
	id, one := "redis:"+s.Key, o != outDup
	if asks {
		w.in.either[id] = true
		one = one != w.in.world.Dupe[id]
	}
	return cmd(&Value{K: VInt, I: b2i(one), Site: s}, nilVal, s)
}

// onceScript reports whether a script does something the first time only, and whether it looks before it sets.
func onceScript(txt string) (once, looks bool) {
	if strings.Contains(txt, "setnx") || strings.Contains(txt, "'nx'") || strings.Contains(txt, "\"nx\"") {
		return true, false
	}
	has := func(names ...string) bool {
		for _, n := range names {
			if strings.Contains(txt, "call('"+n+"'") || strings.Contains(txt, "call(\""+n+"\"") {
				return true
			}
		}
		return false
	}
	counts := strings.Contains(txt, "tonumber") || strings.Contains(txt, "incr") || strings.Contains(txt, "decr") || strings.Contains(txt, "+")
	return (has("exists", "hexists", "sismember") || has("get") && !counts) && has("set", "setex", "psetex", "sadd", "hset"), true
}

// result takes a command's outcome apart.
func (w *walker) result(ins *Instr, recv *Value, args []*Value) []exit {
	v := recv
	if v == nil {
		// redigo.Int(conn.Do(…)): value and error are the arguments.
		return []exit{{converted(ins.Call, at(args, 0), at(args, 1)), w.st}}
	}
	if v.K != VTuple || len(v.Elems) != 2 {
		if ins.Call.Name == "Err" {
			return []exit{{[]*Value{nilVal}, w.st}}
		}
		return []exit{{fit(ins.Call, top, nilVal), w.st}}
	}
	switch ins.Call.Name {
	case "Err":
		return []exit{{[]*Value{v.Elems[1]}, w.st}}
	case "Val":
		return []exit{{[]*Value{v.Elems[0]}, w.st}}
	}
	return []exit{{fit(ins.Call, v.Elems[0], v.Elems[1]), w.st}}
}

// redigoKinds are the commands of redigo's Do that its other client has methods for.
var redigoKinds = map[string]know.Kind{
	"SET": know.RedisSet, "SETEX": know.RedisSet, "PSETEX": know.RedisSet, "GETSET": know.RedisSet, "MSET": know.RedisSet, "HSET": know.RedisSet,
	"HMSET": know.RedisSet, "ZADD": know.RedisSet, "GEOADD": know.RedisSet, "PFADD": know.RedisSet, "SETBIT": know.RedisSet, "SADD": know.RedisSAdd, "EXISTS": know.RedisExists, "GET": know.RedisGet, "HGET": know.RedisGet,
	"SISMEMBER": know.RedisSMember, "HEXISTS": know.RedisSMember, "DEL": know.RedisDel, "UNLINK": know.RedisDel, "EXPIRE": know.RedisDel,
	"PEXPIRE": know.RedisDel, "HDEL": know.RedisDel, "SREM": know.RedisDel, "ZREM": know.RedisDel, "INCR": know.RedisWrite, "INCRBY": know.RedisWrite,
	"INCRBYFLOAT": know.RedisWrite, "DECR": know.RedisWrite, "DECRBY": know.RedisWrite, "LPUSH": know.RedisWrite, "RPUSH": know.RedisWrite,
	"LPOP": know.RedisWrite, "RPOP": know.RedisWrite, "RPOPLPUSH": know.RedisWrite, "XADD": know.RedisWrite, "PUBLISH": know.RedisWrite,
	"ZINCRBY": know.RedisWrite, "HINCRBY": know.RedisWrite, "HINCRBYFLOAT": know.RedisWrite, "APPEND": know.RedisWrite, "SETNX": know.RedisSetNX,
	"HSETNX": know.RedisSetNX,
}

// byName does a command that is given by its name, nil when nothing is known of it. replies says that SET with NX
// replied that the key was there.
func (w *walker) byName(ins *Instr, name string, rest []*Value, replies func(e *exit, val, errv *Value, absent bool)) []exit {
	name = strings.ToUpper(name)
	kind, ok := redigoKinds[name]
	if !ok || len(rest) == 0 {
		return nil
	}
	one := *ins
	call := *ins.Call
	call.Name = name
	one.Call = &call
	if name == "SET" && slices.ContainsFunc(rest, func(a *Value) bool { return a.K == VStr && strings.EqualFold(a.S, "NX") }) {
		kind = know.RedisSetNX
	}
	row := &know.Row{Kind: kind, Arg: 0, Arg2: 1}
	if name == "HSETNX" {
		row.Arg = 1
	}
	out := w.redis(&one, row, nil, rest)
	for i := range out {
		if len(out[i].vals) != 1 || out[i].vals[0].K != VTuple || len(out[i].vals[0].Elems) != 2 {
			continue
		}
		val, errv := out[i].vals[0].Elems[0], out[i].vals[0].Elems[1]
		if kind == know.RedisSetNX && name != "SET" && val.K == VBool {
			val = &Value{K: VInt, I: val.I, Site: val.Site}
		}
		replies(&out[i], val, errv, kind == know.RedisSetNX && name == "SET" && val.K == VBool && val.I == 0 && errv.K == VNil)
	}
	return out
}

// command is a command of go-redis that is given by its name and arguments in one list. What is not there is an error.
func (w *walker) command(ins *Instr, all []*Value) []exit {
	if len(all) < 2 {
		return w.quiet(ins)
	}
	out := w.byName(ins, text(all[0]), all[1:], func(e *exit, val, errv *Value, absent bool) {
		c := *e.vals[0]
		switch {
		case absent:
			val, errv = nilVal, &Value{K: VErr, S: errNoRows, Site: c.Site}
		case val.K == VBool:
			val = strVal("OK", Taint{})
		}
		c.Elems = []*Value{val, errv}
		e.vals = []*Value{&c}
	})
	if out == nil {
		return w.quiet(ins)
	}
	return out
}

// redigo does a command that is given by its name. What is not there is nil, and no error.
func (w *walker) redigo(ins *Instr, name string, rest []*Value) []exit {
	out := w.byName(ins, name, rest, func(e *exit, val, errv *Value, absent bool) {
		c := e.vals[0]
		if absent || errv.K == VErr && errv.S == errNoRows {
			val, errv = &Value{K: VNil, Site: c.Site}, nilVal
		}
		e.vals = fit(ins.Call, val, errv)
	})
	if out == nil {
		return []exit{{fit(ins.Call, top, nilVal), w.st}}
	}
	return out
}

// converted is what redigo's Bool, Int, String make of a reply and an error: of no reply, redis.ErrNil.
func converted(c *Call, reply, errv *Value) []*Value {
	if errv.K == VNil && reply.K == VNil {
		return failing(c, &Value{K: VErr, S: errNoRows, Site: reply.Site})
	}
	v := *reply
	switch number := strings.HasPrefix(c.Name, "Int") || strings.HasPrefix(c.Name, "Uint"); {
	case c.Name == "Bool" && v.K == VInt:
		v.K, v.I = VBool, b2i(v.I != 0)
	case number && v.K == VBool:
		v.K = VInt
	case c.Name != "Bool" && !number && v.K == VBool:
		v = Value{K: VNotNil, T: v.T} // "OK"
	}
	return fit(c, &v, errv)
}
