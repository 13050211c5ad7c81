package know

import "strings"

// payments are the SDKs of payment providers, by the roots of their normalised import paths.
var payments = []string{
	"github.com/stripe/stripe-go", "github.com/adyen/adyen-go-api-library", "github.com/Adyen/adyen-go-api-library",
	"github.com/braintree-go/braintree-go", "github.com/lionelbarrow/braintree-go",
	"github.com/plutov/paypal", "github.com/square/square-go-sdk", "github.com/square/square-connect-go-sdk",
	"github.com/razorpay/razorpay-go", "github.com/VictorAvelar/mollie-api-go", "github.com/checkout/checkout-sdk-go",
	"github.com/mercadopago/sdk-go", "github.com/omise/omise-go", "github.com/xendit/xendit-go", "github.com/midtrans/midtrans-go",
	"github.com/gocardless/gocardless-pro-go", "github.com/wepay/wepay-go", "github.com/paystack/paystack-go", "github.com/rpip/paystack-go",
	"github.com/plaid/plaid-go", "github.com/chargebee/chargebee-go", "github.com/PaddleHQ/paddle-go-sdk", "github.com/recurly/recurly-client-go",
	"github.com/rvinnie/yookassa-sdk-go", "github.com/iyzico/iyzipay-go", "github.com/dwolla/dwolla-v2-go",
	"github.com/kolanos/dwolla-v2-go", "github.com/logpacker/PayPal-Go-SDK", "github.com/smartwalle/paypal", "github.com/smartwalle/alipay",
	"github.com/wechatpay-apiv3/wechatpay-go", "github.com/go-pay/gopay", "github.com/flutterwave/flutterwave-go",
}

// Payment reports whether a package belongs to a payment provider's SDK. The path is normalised by the caller.
func Payment(pkg string) bool {
	for _, p := range payments {
		if Under(pkg, p) {
			return true
		}
	}
	return false
}

// Provider is the root of the SDK a package belongs to, "" for none. Keys of one provider share a namespace.
func Provider(pkg string) string {
	for _, p := range payments {
		if Under(pkg, p) {
			return p
		}
	}
	return ""
}

// Mutates reports whether an SDK call's name says that it changes something.
func Mutates(name string) bool {
	w := Words(name)
	if len(w) == 0 {
		return false
	}
	switch w[0] {
	case "new", "create", "capture", "cancel", "confirm", "refund", "charge", "pay", "transfer", "void", "authorize", "authorise", "reverse",
		"submit", "send", "post", "approve", "payout", "execute", "settle", "finalize", "debit", "credit", "update", "increment", "sale":
		return !strings.HasPrefix(name, "NewClient") && !strings.HasPrefix(name, "NewRequest") && name != "NewBackends"
	}
	return false
}

// MovesMoney reports whether a call of a payment SDK moves money or commits somebody to pay. pkg is the package, recv
// the receiver's type. What only reads, prepares parameters, or keeps master data (customers, products, prices,
// webhooks) does not, and neither does what lands on the same state when it is repeated (an update, a cancellation).
func MovesMoney(pkg, recv, name string) bool {
	w := Words(name)
	if len(w) == 0 || strings.HasPrefix(name, "NewClient") || strings.HasPrefix(name, "NewRequest") || name == "NewBackends" {
		return false
	}
	place := Words(strings.TrimPrefix(pkg, Provider(pkg)))
	place = append(place, Words(recv)...)
	for _, x := range append(append([]string{}, place...), w...) {
		if masterData[x] {
			return false
		}
	}
	if readVerb(w[0]) || last(w) == "status" || last(w) == "methods" {
		return false
	}
	switch w[0] {
	case "new", "create":
		return hasMoneyNoun(w[1:]) || placeOfMoney(place)
	case "capture", "refund", "charge", "pay", "transfer", "payout", "settle", "debit", "credit", "sale", "authorize", "authorise", "disburse", "confirm",
		"execute", "topup", "increment", "finalize", "approve", "clone":
		return true
	case "submit", "send", "post", "request", "make", "issue", "process", "initiate", "trigger", "do", "batch", "instant":
		return len(w) == 1 && placeOfMoney(place) || hasMoneyNoun(w[1:])
	case "payments", "payouts", "refunds", "captures", "transfers", "charges", "donations":
		// Adyen names an endpoint, not what it does.
		return strings.Contains(strings.ToLower(pkg), "adyen") && len(w) == 1
	}
	return false
}

// placeOfMoney reports whether the package or type of an SDK's call is about something that moves money.
func placeOfMoney(place []string) bool {
	for _, x := range place {
		for _, n := range [...]string{"payment", "refund", "payout", "transfer", "charge", "topup", "invoice", "subscription", "checkout", "capture", "disbursement", "creditnote", "order", "sale", "transaction"} {
			if strings.Contains(x, n) {
				return true
			}
		}
	}
	return false
}

func last(w []string) string {
	if len(w) == 0 {
		return ""
	}
	return w[len(w)-1]
}

// masterData are the objects of a provider that are no movement of money.
var masterData = set("customer", "customers", "product", "products", "price", "prices", "coupon", "coupons", "account", "accounts", "token", "tokens",
	"webhook", "webhooks", "webhookendpoint", "paymentmethod", "paymentlink", "ephemeralkey", "file", "filelink", "person", "plan", "plans", "taxrate", "shippingrate",
	"portalsession", "billingportal", "recipient", "beneficiary", "contact", "contacts", "vpa", "testhelpers", "catalog", "locations", "loyalty", "reporting",
	"apps", "radar", "identity", "terminal", "accountlink", "accountsession", "setupintent", "intentsetup", "source", "card", "cards", "bankaccount")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// moneyWords say by themselves that money moves.
var moneyWords = set("charge", "charges", "pay", "pays", "paying", "payment", "payments", "refund", "refunds", "refunding", "payout", "payouts",
	"transfer", "transfers", "transferring", "capture", "captures", "capturing", "debit", "debits", "credit", "credits", "withdraw", "withdrawal", "withdrawals",
	"settle", "settlement", "settlements", "disburse", "disbursement", "disbursements", "repay", "repayment", "repayments", "prepay", "prepayment",
	"payin", "payins", "topup", "topups", "cashout", "cashouts", "remit", "remittance", "remittances", "reimburse", "reimbursement", "reimbursements",
	"paymentintent", "paymentintents", "checkout", "chargeback", "chargebacks", "purchase", "purchases")

// moneyVerbs may begin the name of a function that moves money.
var moneyVerbs = set("charge", "pay", "refund", "payout", "transfer", "capture", "debit", "credit", "withdraw", "settle", "disburse", "repay", "prepay",
	"payin", "topup", "cashout", "remit", "reimburse", "deposit", "payment", "refunds", "payments")

// moneyNouns are what a verb of making may be followed by.
var moneyNouns = set("charge", "charges", "payment", "payments", "refund", "refunds", "payout", "payouts", "transfer", "transfers", "capture", "captures", "debit",
	"debits", "credit", "credits", "withdrawal", "withdrawals", "settlement", "settlements", "disbursement", "disbursements", "repayment", "payin", "payins",
	"topup", "topups", "cashout", "remittance", "reimbursement", "paymentintent", "paymentintents", "intent", "intents", "order", "orders", "sale", "transaction",
	"transactions", "purchase", "payorder", "session", "invoice", "invoiceitem", "subscription", "subscriptions", "checkout", "topups", "creditnote", "charging",
	"subscriptionitem", "mandate", "coreapi", "iris", "snap")

func hasMoneyNoun(w []string) bool {
	for _, x := range w {
		if moneyNouns[x] || moneyWords[x] {
			return true
		}
	}
	return false
}

// makers are verbs that say what is done only together with what follows.
var makers = set("create", "make", "do", "execute", "perform", "try", "request", "issue", "submit", "initiate", "init", "start", "process", "send", "post", "call",
	"run", "new", "attempt", "place", "trigger", "authorize", "authorise", "confirm", "reserve", "apply", "handle", "retry", "complete", "finalize", "book", "push", "release", "batch", "instant", "add", "put", "ensure")

// otherThings make a money word mean something else, or the call something about money rather than its movement.
var otherThings = set("method", "methods", "status", "statuses", "state", "event", "events", "notification", "notifications", "notify", "webhook", "webhooks", "receipt",
	"receipts", "mail", "email", "emails", "log", "logs", "audit", "metric", "metrics", "history", "report", "reports", "summary", "info", "detail", "details", "config",
	"file", "files", "data", "ownership", "exception", "exceptions", "error", "errors", "image", "images", "photo", "video", "screen", "screenshot", "message", "messages",
	"stock", "inventory", "battery", "call", "ticket", "tickets", "score", "scores", "limit", "limits", "check", "checks", "quote", "quotes", "estimate", "preview", "fee",
	"rate", "rates", "rule", "rules", "reminder", "reminders", "reference", "url", "link", "response", "result", "results", "policy", "options", "schema",
	"encoding", "protocol", "oauth", "oauth2", "token", "tokens", "login", "auth", "analytics", "telemetry", "validation", "verification", "search", "query", "sms", "slack", "alert", "alerts",
	"failed", "succeeded", "received", "completed", "created", "updated", "charger", "chargers", "station", "stations", "documents", "document", "object")

func readVerb(w string) bool {
	switch w {
	case "get", "list", "find", "fetch", "retrieve", "read", "load", "lookup", "search", "query", "check", "validate", "verify", "is", "has", "can", "count", "exists",
		"describe", "show", "view", "poll", "watch", "stream", "subscribe", "ping", "health", "status", "quote", "estimate", "calculate", "compute", "preview", "simulate",
		"parse", "format", "build", "to", "from", "iter", "all", "each", "download", "export", "decode", "encode", "marshal", "unmarshal", "string", "inspect", "compare", "reconcile":
		return true
	}
	return false
}

// MoneyName reports whether the name of a function or method says that it moves money: it begins with such a verb
// (ChargeCard, payOut, Refund), or a verb of making is followed by such a noun (createPayment, issueRefund).
func (t *Tables) MoneyName(name string) bool {
	w := joinWords(Words(name))
	if len(w) == 0 || readVerb(w[0]) {
		return false
	}
	for _, x := range w[1:] {
		if otherThings[x] {
			return false
		}
	}
	if moneyVerbs[w[0]] || t.moneyWord(w[0]) {
		return true
	}
	if !makers[w[0]] || w[0] == "handle" {
		return false
	}
	for _, x := range w[1:] {
		if moneyWords[x] || t.moneyWord(x) {
			return true
		}
	}
	return false
}

// moneyWord reports whether the configuration says that a word means a movement of money.
func (t *Tables) moneyWord(w string) bool { return t != nil && t.money[w] }

// joinWords puts the halves of pay-out, top-up and the like together.
func joinWords(w []string) []string {
	var out []string
	for i := 0; i < len(w); i++ {
		if i+1 < len(w) {
			switch w[i] + " " + w[i+1] {
			case "pay out", "pay outs", "pay in", "pay ins", "top up", "top ups", "cash out", "pay ment", "charge back":
				out = append(out, w[i]+w[i+1])
				i++
				continue
			}
		}
		out = append(out, w[i])
	}
	return out
}

// A Say is what a URL's path says about money.
type Say int8

// What a path says.
const (
	SaysNothing Say = iota
	SaysMoney
	SaysOther // it names something that is no movement of money
)

// MoneyPath tells what the path of a URL says: the last of its segments that says anything decides. A segment that
// is not known (it holds hole) says nothing.
func (t *Tables) MoneyPath(path string, hole byte) Say {
	if i := strings.Index(path, "://"); i >= 0 {
		path = path[i+3:]
		if j := strings.IndexByte(path, '/'); j >= 0 {
			path = path[j:]
		} else {
			path = ""
		}
	}
	path, _, _ = strings.Cut(path, "?")
	say := SaysNothing
	segs := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, seg := range segs {
		if strings.IndexByte(seg, hole) >= 0 {
			seg = strings.Trim(seg, string(rune(hole)))
			if strings.IndexByte(seg, hole) >= 0 || seg == "" {
				continue
			}
		}
		w := joinWords(Words(seg))
		money, other, read := false, false, len(w) > 0 && readVerb(w[0])
		for _, x := range w {
			money = money || moneyWords[x] || t.moneyWord(x)
			other = other || otherThings[x] || i == len(segs)-1 && masterData[x]
		}
		switch {
		case other && !(money && len(w) == 1) || read:
			say = SaysOther
		case money:
			say = SaysMoney
		}
	}
	return say
}

// hosts are what payment providers' APIs are reached at.
var hosts = []string{"stripe.com", "adyen.com", "adyenpayments.com", "paypal.com", "braintreegateway.com", "braintree-api.com", "squareup.com", "squareupsandbox.com",
	"razorpay.com", "mollie.com", "checkout.com", "mercadopago.com", "omise.co", "xendit.co", "midtrans.com", "gocardless.com", "yookassa.ru", "yoomoney.ru",
	"paystack.co", "flutterwave.com", "wise.com", "transferwise.com", "klarna.com", "worldpay.com", "authorize.net", "dwolla.com", "plaid.com", "paddle.com",
	"chargebee.com", "recurly.com", "cybersource.com", "bluesnap.com", "paytm.in", "payu.com", "payu.in", "phonepe.com", "iyzipay.com", "tinkoff.ru", "cloudpayments.ru",
	"mangopay.com", "payoneer.com", "revolut.com", "alipay.com", "mch.weixin.qq.com", "doku.com", "opay.com", "pagseguro.uol.com.br", "pagar.me", "asaas.com", "ebanx.com", "conekta.io",
	"momo.vn", "vnpay.vn", "zalopay.vn", "vnpayment.vn"}

// ProviderHost reports whether a URL's host is a payment provider's.
func ProviderHost(url string) bool {
	i := strings.Index(url, "://")
	if i < 0 {
		return false
	}
	h := url[i+3:]
	if j := strings.IndexAny(h, "/?:"); j >= 0 {
		h = h[:j]
	}
	h = strings.ToLower(h)
	for _, p := range hosts {
		if h == p || strings.HasSuffix(h, "."+p) {
			return true
		}
	}
	return false
}
