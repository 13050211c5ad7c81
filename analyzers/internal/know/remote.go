package know

import "strings"

// remotes end the names of types that stand for something outside the process.
var remotes = set("client", "gateway", "provider", "psp", "acquirer", "connector", "api", "sdk", "remote", "gw")

// inside are clients of stores and brokers: what they do is no remote call that moves money.
var inside = set("redis", "kafka", "db", "database", "sql", "mongo", "http", "cache", "s3", "storage", "elastic", "config", "token", "context", "logger", "metrics",
	"auth", "identity", "time", "clock", "id", "key", "secret", "secrets", "template", "file", "feature", "flag", "flags", "mail", "email", "sms", "notification", "notifier", "publisher", "producer", "consumer", "event", "rate", "price", "fx", "message", "tracer", "meter", "camera", "screen", "screenshot", "image", "video", "blob", "data", "ocpp", "station", "vehicle", "packet", "traffic")

// RemoteName reports whether a type's name says that it stands for a remote client, gateway or provider.
func RemoteName(typ string) bool {
	w := Words(typ)
	for len(w) > 2 && last(w) == "responses" && w[len(w)-2] == "with" {
		w = w[:len(w)-2] // oapi-codegen: ClientWithResponses
	}
	for len(w) > 0 && (last(w) == "interface" || last(w) == "iface" || last(w) == "port" || isVersion(last(w))) {
		w = w[:len(w)-1]
	}
	if len(w) > 1 && w[0] == "i" {
		w = w[1:]
	}
	if len(w) == 0 || !remotes[last(w)] {
		return false
	}
	for _, x := range w[:len(w)-1] {
		if inside[x] {
			return false
		}
	}
	return true
}

// providers are words that name a payment provider.
var providers = set("stripe", "adyen", "braintree", "paypal", "square", "razorpay", "mollie", "mercadopago", "omise", "xendit", "midtrans", "gocardless",
	"yookassa", "paystack", "flutterwave", "klarna", "worldpay", "psp", "acquirer", "alipay", "wise", "dwolla")

// PaymentName reports whether a type's name itself says payment.
func (t *Tables) PaymentName(typ string) bool {
	for _, x := range joinWords(Words(typ)) {
		if moneyWords[x] && x != "checkout" && x != "transfer" && x != "capture" || providers[x] || t.moneyWord(x) {
			return true
		}
	}
	return false
}

// MutatingName reports whether a method's name says that it changes something.
func (t *Tables) MutatingName(name string) bool {
	w := Words(name)
	if len(w) == 0 || readVerb(w[0]) {
		return false
	}
	for _, x := range w[1:] {
		if otherThings[x] && x != "call" {
			return false
		}
	}
	switch w[0] {
	case "process", "create", "submit", "execute", "send", "confirm", "authorize", "authorise", "approve", "do", "perform", "make", "request", "initiate", "start",
		"issue", "post", "place", "complete", "commit", "reserve", "hold", "buy", "purchase", "bill", "collect", "sale", "redeem", "release", "run", "invoke", "call":
		return true
	}
	return t.MoneyName(name)
}

// RemoteMoney reports whether a method of a type that cannot be seen is a money call by its names: a remote client's,
// gateway's or provider's method with a money verb, or with any mutating verb when the type itself says payment.
func (t *Tables) RemoteMoney(typ, method string) bool {
	return RemoteName(typ) && (t.MoneyName(method) || t.PaymentName(typ) && t.MutatingName(method))
}

// GRPCMoney reports whether a gRPC method, as "/package.Service/Method", says money and changes something.
func (t *Tables) GRPCMoney(full string) bool {
	service, method, ok := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	if !ok {
		return false
	}
	if t.MoneyName(method) {
		return true
	}
	if i := strings.LastIndexByte(service, '.'); i >= 0 {
		service = service[i+1:]
	}
	return t.PaymentName(service) && t.MutatingName(method)
}

// KeyHeader reports whether a header is one by which a provider tells repeats: Idempotency-Key in any spelling, and
// the providers' own.
func KeyHeader(name string) bool {
	f := flat(name)
	if strings.Contains(f, "idempoten") || strings.Contains(f, "idempotency") {
		return true
	}
	switch f {
	case "paypalrequestid", "xrequestidempotency", "xdedupkey", "xdeduplicationid", "xdeduplicationkey", "deduplicationid", "deduplicationkey", "dedupkey":
		return true
	}
	return false
}

// KeyField reports whether a field or parameter of a request is one by which the receiver tells repeats.
func KeyField(name string) bool {
	if DedupKey(name) {
		return true
	}
	f := flat(name)
	switch f {
	case "paypalrequestid", "clientrequestid", "requestid", "idempotency", "idempotent", "xidempotency", "idemkey", "clienttoken":
		return true
	}
	return strings.Contains(f, "idempoten")
}

// KeyMaker reports whether a function of an SDK makes a new key on every call.
func KeyMaker(name string) bool {
	f := flat(name)
	return strings.Contains(f, "idempoten") && (strings.HasPrefix(f, "new") || strings.HasPrefix(f, "generate") || strings.HasPrefix(f, "random"))
}

// KeySetter reports whether a function of an SDK sets the key of what it is called on, or makes an option that does.
func KeySetter(name string) bool {
	f := flat(name)
	return strings.Contains(f, "idempoten") && !strings.HasPrefix(f, "get") && !strings.HasPrefix(f, "has") && !KeyMaker(name)
}

// GenericName reports whether a function's name only says that it sends something: what is sent, its caller's name says.
func GenericName(name string) bool {
	w := Words(name)
	if len(w) == 0 {
		return true
	}
	for _, x := range w {
		if !genericWords[x] {
			return false
		}
	}
	return true
}

var genericWords = set("do", "post", "send", "request", "call", "execute", "exec", "invoke", "http", "json", "with", "retry", "retries", "make", "req", "api", "raw", "patch", "put", "round", "trip",
	"round", "internal", "in", "context", "once", "attempt", "try", "run", "request", "and", "decode", "into", "call", "backoff", "to", "endpoint", "backend", "remote", "json", "submit")

// AttemptName reports whether a variable's name says that it counts attempts.
func AttemptName(name string) bool {
	for _, x := range Words(name) {
		switch x {
		case "attempt", "attempts", "retry", "retries", "try", "tries":
			return true
		}
	}
	return false
}

// The kinds of calls by which requests to other processes are made, given their headers and sent.
const (
	FirstRemote   Kind = 160 + iota
	HTTPCopy           // returns the request it was called on; Arg is the context it gets, -1 for none
	HTTPCtx            // the request's context
	HTTPDel            // removes the header Arg
	HTTPMethod         // sets the method of the request, or of the request whose header it is called on
	HTTPURL            // sets its URL
	HTTPMake           // makes an empty request
	HTTPBody           // sets its body
	HTTPHeaders        // sets the headers of the map Arg
	RestClient         // makes a client; Arg is the http.Client it is made of
	RestNew            // makes a request of the client it is called on
	RestHook           // Arg runs before every request of the client
	RestTransport      // Arg is the client's transport
	RestBase           // Arg is the client's base URL
	RestContext        // Arg is the request's context
	URLText            // a URL in another form: Arg is its text, -2 the receiver
	URLJoin            // joins the receiver, or the first argument, and the rest
	MetaNew            // makes outgoing metadata of pairs or a map
	MetaSet            // sets the metadata Arg to Arg2
	MetaOut            // a context with the metadata Arg
	MetaAppend         // a context with further metadata: pairs from Arg on
	MetaGet            // the outgoing metadata of a context
	GRPCDial           // makes a connection of the options Arg
	GRPCOption         // an option: interceptors from Arg on
	KeyOfEvent         // the companion runtime's key: derived from the event
	ConnectNew         // makes a request of the message Arg
	ConnectHeader      // the header of the request it is called on
	ConnectCall        // a unary call with the request Arg
)

const (
	resty    = "github.com/go-resty/resty"
	reqlib   = "github.com/imroc/req"
	fasthttp = "github.com/valyala/fasthttp"
	retryab  = "github.com/hashicorp/go-retryablehttp"
	grpcPkg  = "google.golang.org/grpc"
	connect  = "connectrpc.com/connect"
)

var remoteRows = []Row{
	{"net/http", "", "NewRequest", HTTPNew, 0, 1},
	{"net/http", "", "NewRequestWithContext", HTTPNew, 1, 2},
	{"net/http", "Request", "WithContext|Clone", HTTPCopy, 0, -1},
	{"net/http", "Request", "Context", HTTPCtx, -1, -1},
	{"net/http", "Client", "Do", HTTPSend, 0, -1},
	{"net/http", "RoundTripper", "RoundTrip", HTTPSend, 0, -1},
	{"net/http", "Transport", "RoundTrip", HTTPSend, 0, -1},
	{"net/http", "*", "Post|PostForm", HTTPPost, 0, -1},
	{"net/http", "*", "Get|Head", HTTPGet, 0, -1},
	{"net/http", "Header", "Set|Add", HTTPHeader, 0, 1},
	{"net/http", "Header", "Del", HTTPDel, 0, -1},
	{"net/http", "Header", "Clone", SameTx, -1, -1},
	{"net/url", "", "Parse|ParseRequestURI", URLText, 0, -1},
	{"net/url", "URL", "String|Redacted", URLText, -2, -1},
	{"net/url", "URL", "Parse|JoinPath|ResolveReference", URLJoin, -2, -1},
	{"net/url", "", "JoinPath", URLJoin, 0, -1},

	{retryab, "", "NewRequest", HTTPNew, 0, 1},
	{retryab, "", "NewRequestWithContext", HTTPNew, 1, 2},
	{retryab, "", "FromRequest", SameTx, -1, -1},
	{retryab, "Request", "WithContext", HTTPCopy, 0, -1},
	{retryab, "Client", "Do", HTTPSend, 0, -1},
	{retryab, "Client", "StandardClient", SameTx, -1, -1},
	{retryab, "*", "Post|PostForm", HTTPPost, 0, -1},
	{retryab, "*", "Get|Head", HTTPGet, 0, -1},
	{"github.com/gojek/heimdall", "*", "Do", HTTPSend, 0, -1},
	{"github.com/gojek/heimdall/httpclient", "*", "Do", HTTPSend, 0, -1},
	{"github.com/gojek/heimdall/httpclient", "*", "Post", HTTPPost, 0, -1},

	{resty, "Request", "Post|Put|Patch|Delete", RestSend, 0, -1},
	{resty, "Request", "Execute", RestSend, 1, 0},
	{resty, "Request", "Send", RestSend, -1, -1},
	{resty, "Request", "Get|Head|Options", HTTPGet, 0, -1},
	{resty, "*", "SetHeader|SetHeaderVerbatim", HTTPHeader, 0, 1},
	{resty, "*", "SetHeaders|SetHeaderMultiValues", HTTPHeaders, 0, -1},
	{resty, "Request", "SetBody", HTTPBody, 0, -1},
	{resty, "Request", "SetContext|WithContext", RestContext, 0, -1},
	{resty, "Request", "Context", HTTPCtx, -1, -1},
	{resty, "Request", "SetMethod", HTTPMethod, 0, -1},
	{resty, "Request", "SetURL", HTTPURL, 0, -1},
	{resty, "Request", "SetResult|SetError|SetQueryParam|SetQueryParams|SetPathParam|SetPathParams|SetFormData|SetAuthToken|SetBasicAuth|SetAuthScheme|SetDoNotParseResponse|EnableTrace|ForceContentType|SetOutput|SetContentLength|AddRetryCondition", RestStep, -1, -1},
	{resty, "", "New", RestClient, -1, -1},
	{resty, "", "NewWithClient", RestClient, 0, -1},
	{resty, "Client", "R|NewRequest", RestNew, -1, -1},
	{resty, "Client", "OnBeforeRequest|SetPreRequestHook|AddRequestMiddleware|SetRequestMiddlewares", RestHook, 0, -1},
	{resty, "Client", "SetTransport", RestTransport, 0, -1},
	{resty, "Client", "SetBaseURL|SetHostURL", RestBase, 0, -1},
	{resty, "Client", "SetTimeout|SetRetryCount|SetRetryWaitTime|SetRetryMaxWaitTime|SetAuthToken|SetBasicAuth|SetDebug|SetLogger|AddRetryCondition|OnAfterResponse|SetTLSClientConfig|SetRedirectPolicy|SetQueryParam|SetAuthScheme|SetError|SetDisableWarn|SetProxy|SetRetryAfter|AddRetryHook|OnError|EnableTrace|SetJSONMarshaler|SetJSONUnmarshaler|SetCloseConnection|SetContentLength|SetAllowGetMethodPayload", SameTx, -1, -1},

	{reqlib, "Request", "Post|Put|Patch|Delete|MustPost|MustPut|MustPatch|MustDelete", RestSend, 0, -1},
	{reqlib, "Request", "Send", RestSend, 1, 0},
	{reqlib, "Request", "Do", RestSend, -1, -1},
	{reqlib, "Request", "Get|Head|MustGet", HTTPGet, 0, -1},
	{reqlib, "*", "SetHeader|SetCommonHeader", HTTPHeader, 0, 1},
	{reqlib, "*", "SetHeaders|SetCommonHeaders", HTTPHeaders, 0, -1},
	{reqlib, "Request", "SetBody|SetBodyJsonMarshal|SetBodyJsonString|SetBodyBytes|SetBodyString", HTTPBody, 0, -1},
	{reqlib, "Request", "SetContext", RestContext, 0, -1},
	{reqlib, "Request", "Context", HTTPCtx, -1, -1},
	{reqlib, "Request", "SetSuccessResult|SetErrorResult|SetResult|SetError|SetQueryParam|SetQueryParams|SetPathParam|SetPathParams|SetFormData|SetBearerAuthToken|SetBasicAuth|SetContentType|SetRetryCount|EnableDump", RestStep, -1, -1},
	{reqlib, "", "C|NewClient", RestClient, -1, -1},
	{reqlib, "*", "R|NewRequest", RestNew, -1, -1},
	{reqlib, "Client", "OnBeforeRequest", RestHook, 0, -1},
	{reqlib, "Client", "SetBaseURL", RestBase, 0, -1},
	{reqlib, "Client", "SetTimeout|SetUserAgent|SetCommonRetryCount|SetCommonBearerAuthToken|SetCommonBasicAuth|EnableDebugLog|DevMode|OnAfterResponse|SetCommonErrorResult|SetCommonContentType|SetCommonQueryParam|EnableDumpAll", SameTx, -1, -1},

	{fasthttp, "", "AcquireRequest", HTTPMake, -1, -1},
	{fasthttp, "Request", "SetRequestURI|SetRequestURIBytes", HTTPURL, 0, -1},
	{fasthttp, "RequestHeader", "SetRequestURI|SetRequestURIBytes", HTTPURL, 0, -1},
	{fasthttp, "RequestHeader", "SetMethod|SetMethodBytes", HTTPMethod, 0, -1},
	{fasthttp, "Request", "SetBody|SetBodyString|SetBodyRaw", HTTPBody, 0, -1},
	{fasthttp, "RequestHeader", "Set|SetBytesKV|Add|SetBytesK|SetBytesV|SetCanonical", HTTPHeader, 0, 1},
	{fasthttp, "RequestHeader", "Del", HTTPDel, 0, -1},
	{fasthttp, "*", "Do|DoTimeout|DoDeadline|DoRedirects", HTTPSend, 0, -1},
	{fasthttp, "*", "Post", HTTPPost, 1, -1},

	{grpcPkg, "*", "Invoke", GRPCInvoke, 1, 2},
	{grpcPkg, "*", "NewStream", Silent, -1, -1},
	{grpcPkg, "", "NewClient|Dial", GRPCDial, 1, -1},
	{grpcPkg, "", "DialContext", GRPCDial, 2, -1},
	{grpcPkg, "", "WithUnaryInterceptor|WithChainUnaryInterceptor", GRPCOption, 0, -1},
	{grpcPkg + "/metadata", "", "Pairs|New", MetaNew, 0, -1},
	{grpcPkg + "/metadata", "MD", "Set|Append", MetaSet, 0, 1},
	{grpcPkg + "/metadata", "MD", "Copy", SameTx, -1, -1},
	{grpcPkg + "/metadata", "", "NewOutgoingContext", MetaOut, 1, -1},
	{grpcPkg + "/metadata", "", "AppendToOutgoingContext", MetaAppend, 1, -1},
	{grpcPkg + "/metadata", "", "FromOutgoingContext", MetaGet, 0, -1},

	{connect, "", "NewRequest", ConnectNew, 0, -1},
	{connect, "Request", "Header", ConnectHeader, -1, -1},
	{connect, "Client", "CallUnary", ConnectCall, 1, -1},

	{Runtime, "", "IdempotencyKey", KeyOfEvent, 0, 1},
}

// Runtime is the import path of the companion runtime.
const Runtime = "github.com/idemlint/idemlint/runtime"
