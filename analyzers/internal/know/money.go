package know

import "strings"

// payments are the SDKs of payment providers, by the roots of their import paths.
var payments = []string{
	"github.com/stripe/stripe-go", "github.com/adyen/adyen-go-api-library", "github.com/braintree-go/braintree-go",
	"github.com/plutov/paypal", "github.com/square/square-go-sdk", "github.com/square/square-connect-go-sdk",
	"github.com/razorpay/razorpay-go", "github.com/VictorAvelar/mollie-api-go", "github.com/checkout/checkout-sdk-go",
	"github.com/mercadopago/sdk-go", "github.com/omise/omise-go", "github.com/xendit/xendit-go", "github.com/midtrans/midtrans-go",
	"github.com/gocardless/gocardless-pro-go", "github.com/wepay/wepay-go", "github.com/paystack/paystack-go", "github.com/rpip/paystack-go",
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
