package tests

import "github.com/google/uuid"

func paid() Paid {
	return Paid{EventID: uuid.NewString()} // want R-KFK-IDEM-1
}
