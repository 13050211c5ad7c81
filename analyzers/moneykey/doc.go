// Package moneykey reports money calls that a Kafka handler makes without an idempotency key of the event.
//
// # Analyzer moneykey
//
// moneykey: a call that moves money has no idempotency key made of the event (R-KFK-IDEM-4)
//
// A processed-event check and a transaction protect the database, not the payment provider: when the provider's answer
// is lost, or the process dies between the answer and the commit, the transaction rolls back, the event comes again, and
// the card is charged a second time. Only the provider can tell that the two calls are one, by a key that is the same
// on both.
//
//	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.psp+"/v1/charges", body)
//	if err != nil {
//		return err
//	}
//	resp, err := c.http.Do(req)
//
// Derive the key from the event's id, and from what tells apart the calls made for one event:
//
//	req.Header.Set("Idempotency-Key", "charge-"+evt.EventID.String())
//
// Reported, each in its own words: no key on some path, a key made anew on every attempt (a random UUID, the clock, the
// number of the attempt), a constant key, and one key for two different calls of the same event.
//
// It stays silent about calls that only read, about calls that no message handler reaches, about a key that comes from
// where it cannot be seen, about a key made of the offset (that is R-KFK-IDEM-X2), and about gateways whose
// implementation in sight stays in the process.
package moneykey
