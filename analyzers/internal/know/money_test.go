package know_test

import (
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/know"
)

// builtIn are the tables without a configuration.
var builtIn *know.Tables

func TestAPathSaysMoneyByItsLastTellingSegment(t *testing.T) {
	for path, want := range map[string]know.Say{
		"\x00/v1/charges":                      know.SaysMoney,
		"https://pay.example/orders/7/refunds": know.SaysMoney,
		"/v1/accounts/\x00/debits":             know.SaysMoney,
		"/api/pay-out":                         know.SaysMoney,
		"/payments/\x00/receipts":              know.SaysOther,
		"/payment-methods":                     know.SaysOther,
		"/oauth2/token":                        know.SaysOther,
		"/payments/search":                     know.SaysOther,
		"/v1/scanner-payloads":                 know.SaysNothing,
		"/v1/orders/\x00/confirm":              know.SaysNothing,
		"https://payments.example":             know.SaysNothing,
		"/v1/customers":                        know.SaysOther,
	} {
		if got := builtIn.MoneyPath(path, 0); got != want {
			t.Errorf("MoneyPath(%q) = %d, want %d", path, got, want)
		}
	}
}

func TestANameSaysMoneyByItsVerbOrByWhatIsMade(t *testing.T) {
	for name, want := range map[string]bool{
		"Charge": true, "chargeCard": true, "PayOut": true, "Refund": true, "createPayment": true, "issueRefund": true, "Withdraw": true, "SettleInvoice": true,
		"forwardPayload": false, "GetPayment": false, "PaymentStatus": false, "CapturePhoto": false, "OnPaymentReceived": false, "handleRefund": false,
		"listCharges": false, "TransferOwnership": false, "Payments": true, "notifyPayment": false, "NewCharger": false,
	} {
		if got := builtIn.MoneyName(name); got != want {
			t.Errorf("MoneyName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestACallOfAnSDKMovesMoneyUnlessItReadsOrKeepsMasterData(t *testing.T) {
	const stripe, razorpay, paypal = "github.com/stripe/stripe-go", "github.com/razorpay/razorpay-go/resources", "github.com/plutov/paypal"
	for _, c := range []struct {
		pkg, recv, name string
		want            bool
	}{
		{stripe + "/refund", "", "New", true},
		{stripe + "/refund", "Client", "New", true},
		{stripe + "/paymentintent", "", "Capture", true},
		{stripe + "/paymentintent", "", "Get", false},
		{stripe + "/paymentintent", "", "Update", false},
		{stripe + "/customer", "", "New", false},
		{stripe + "/client", "", "New", false},
		{stripe, "v1TransferService", "Create", true},
		{stripe, "v1CustomerService", "Create", false},
		{stripe, "", "NewClient", false},
		{stripe, "", "NewBackends", false},
		{razorpay, "Payment", "Refund", true},
		{razorpay, "Payment", "Transfers", false},
		{razorpay, "Order", "Create", true},
		{paypal, "Client", "CaptureOrder", true},
		{paypal, "Client", "GetOrder", false},
		{paypal, "Client", "CreatePayout", true},
		{"github.com/mercadopago/sdk-go/pkg/payment", "Client", "Create", true},
		{"github.com/adyen/adyen-go-api-library/src/checkout", "PaymentsApi", "Payments", true},
		{"github.com/adyen/adyen-go-api-library/src/checkout", "PaymentsApi", "PaymentMethods", false},
		{"github.com/xendit/xendit-go/payout", "", "CreatePayout", true},
		{"github.com/omise/omise-go/operations", "", "CreateCharge", true},
		{"github.com/omise/omise-go/operations", "", "RetrieveCharge", false},
	} {
		if got := know.MovesMoney(c.pkg, c.recv, c.name); got != c.want {
			t.Errorf("MovesMoney(%q, %q, %q) = %v, want %v", c.pkg, c.recv, c.name, got, c.want)
		}
	}
}

func TestARemoteCallIsKnownByTheNamesOfItsTypeAndMethod(t *testing.T) {
	for _, c := range []struct {
		typ, method string
		want        bool
	}{
		{"PaymentGateway", "Process", true},
		{"PaymentGateway", "Status", false},
		{"IPayoutProvider", "Send", true},
		{"BankClient", "Transfer", true},
		{"BankClient", "Process", false},
		{"PaymentService", "Charge", false},
		{"RedisClient", "Pay", false},
		{"CameraClient", "Capture", false},
		{"WalletClientInterface", "Debit", true},
	} {
		if got := builtIn.RemoteMoney(c.typ, c.method); got != c.want {
			t.Errorf("RemoteMoney(%q, %q) = %v, want %v", c.typ, c.method, got, c.want)
		}
	}
}

func TestAGRPCMethodSaysMoneyByItselfOrByItsService(t *testing.T) {
	for full, want := range map[string]bool{
		"/wallet.v1.WalletService/Debit":              true,
		"/payments.v1.PaymentService/Process":         true,
		"/payments.v1.PaymentService/GetPayment":      false,
		"/payments.v1.PaymentService/NotifyReceipt":   false,
		"/orders.v1.OrderService/Create":              false,
		"/media.v1.ScreenshotService/CaptureScreen":   false,
		"/ledger.v1.LedgerService/ReconcileTransfers": false,
	} {
		if got := builtIn.GRPCMoney(full); got != want {
			t.Errorf("GRPCMoney(%q) = %v, want %v", full, got, want)
		}
	}
}

func TestAKeyHeaderIsKnownInEverySpelling(t *testing.T) {
	for name, want := range map[string]bool{
		"Idempotency-Key": true, "idempotency-key": true, "X-Idempotency-Key": true, "PayPal-Request-Id": true, "Cko-Idempotency-Key": true,
		"X-Razorpay-Payout-Idempotency": true, "X-Request-Id": false, "X-Order-Id": false, "Authorization": false,
	} {
		if got := know.KeyHeader(name); got != want {
			t.Errorf("KeyHeader(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestAHostIsAProvidersByItsDomain(t *testing.T) {
	for url, want := range map[string]bool{
		"https://api.stripe.com/v1/charges": true, "https://api-m.paypal.com": true, "https://api.mollie.com:443/v2": true,
		"https://stripe.com.example": false, "https://notstripe.com/x": false, "/v1/charges": false,
	} {
		if got := know.ProviderHost(url); got != want {
			t.Errorf("ProviderHost(%q) = %v, want %v", url, got, want)
		}
	}
}
