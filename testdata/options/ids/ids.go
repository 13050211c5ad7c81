package ids

import "github.com/google/uuid"

type Shipped struct {
	Nonce string
	Order string
}

func shipped(order string) Shipped {
	return Shipped{Nonce: uuid.NewString(), Order: order} // want R-KFK-IDEM-1
}
