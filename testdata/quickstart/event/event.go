// Package event holds the events that billing reads and writes. Amounts are in minor units of the currency.
package event

// Topics.
const (
	TopicPaymentCaptured  = "payments.captured"
	TopicRefundApproved   = "refunds.approved"
	TopicInvoiceIssued    = "billing.invoice-issued"
	TopicInvoiceCancelled = "billing.invoice-cancelled"
)

// PaymentCaptured says that a customer's money has arrived.
type PaymentCaptured struct {
	EventID string `json:"event_id"`
	OrderID string `json:"order_id"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

// RefundApproved says that a customer gets money back.
type RefundApproved struct {
	EventID string `json:"event_id"`
	OrderID string `json:"order_id"`
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

// InvoiceIssued says that a customer owes money.
type InvoiceIssued struct {
	EventID   string `json:"event_id"`
	InvoiceID string `json:"invoice_id"`
	Account   string `json:"account"`
	Amount    int64  `json:"amount"`
}

// InvoiceCancelled says that a customer owes it no longer.
type InvoiceCancelled struct {
	EventID   string `json:"event_id"`
	InvoiceID string `json:"invoice_id"`
}
