// Package ackorder reports offsets that are committed before the work they stand for is done.
//
// # Analyzer ackorder
//
// ackorder: an offset is committed before the work it stands for (R-KFK-IDEM-3)
//
// A committed offset says that all before it is done. Where it is committed, marked or acknowledged before the work's
// transaction commits, a crash in between loses the message: the group goes on behind it.
//
//	session.MarkMessage(msg, "")
//	return h.store(ctx, evt)
//
// Acknowledge when the work is done, and only then:
//
//	if err := h.store(ctx, evt); err != nil {
//		return err
//	}
//	session.MarkMessage(msg, "")
//
// Reported are an acknowledgement before the effect or before the commit of its transaction, one that does not wait for
// the goroutine in which the effect runs or to which the message was sent by a channel, one of a message that is only
// gathered in a field to be written later, one of a message whose effect failed while the error was only logged or
// dropped, and kafka-go's ReadMessage on a reader with a GroupID, which commits what it returns.
//
// It stays silent about skipped messages that could not be decoded or that went to a dead-letter or retry topic, about
// parallel workers whose marks pass each other, about a later commit that passes over a failed message, and about a
// client's default auto-commit.
package ackorder
