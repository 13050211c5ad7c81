package flow

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A channel that bounds how many workers run is waited for by filling it: what goes round a loop in which nothing happens
// but that a token is sent comes to its end when every worker has given its own back.

// filledNext is the send that is all that happens in the loop that follows a block, nil when no such loop follows. That it
// goes round at least once is not asked: there is a worker for each time.
func filledNext(b *ssa.BasicBlock) *ssa.Send {
	for _, head := range b.Succs {
		if head.Dominates(b) || len(b.Succs) > 1 && !asksForNone(b) {
			continue
		}
		if sent := fillsUp(head); sent != nil {
			return sent
		}
	}
	return nil
}

// asksForNone reports whether a block ends with the question of a range over an integer whether it is zero.
func asksForNone(b *ssa.BasicBlock) bool {
	last, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	cond, ok := last.Cond.(*ssa.BinOp)
	return ok && cond.Op == token.LSS && isZero(cond.X)
}

// fillsUp is the send that is all that happens in the loop that begins with a block, nil for other blocks.
func fillsUp(head *ssa.BasicBlock) *ssa.Send {
	var sent *ssa.Send
	for b := range loopAt(head) {
		for _, i := range b.Instrs {
			switch i := i.(type) {
			case *ssa.Send:
				if sent != nil || !isToken(i.X) {
					return nil
				}
				sent = i
			case ssa.CallInstruction:
				if _, builtin := i.Common().Value.(*ssa.Builtin); !builtin {
					return nil
				}
			case *ssa.Select:
				return nil
			}
		}
	}
	return sent
}

// isToken reports whether a value carries nothing.
func isToken(v ssa.Value) bool {
	if s, ok := v.Type().Underlying().(*types.Struct); ok {
		return s.NumFields() == 0
	}
	_, constant := v.(*ssa.Const)
	return constant
}

// loopAt are the blocks of the loop that begins with a block, none if none does.
func loopAt(head *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	var round map[*ssa.BasicBlock]bool
	for _, end := range head.Preds {
		if !head.Dominates(end) {
			continue // an entry
		}
		if round == nil {
			round = map[*ssa.BasicBlock]bool{head: true}
		}
		comesBy(end, round)
	}
	return round
}

// comesBy adds to blocks those from which another is reached without passing one of them.
func comesBy(b *ssa.BasicBlock, blocks map[*ssa.BasicBlock]bool) {
	if blocks[b] {
		return
	}
	blocks[b] = true
	for _, p := range b.Preds {
		comesBy(p, blocks)
	}
}
