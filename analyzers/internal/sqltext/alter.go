package sqltext

// alterTable reads what follows ALTER TABLE.
func (p *parser) alterTable() Kind {
	st := p.st
	p.ifExists()
	p.accept(kwOnly)
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	if p.isOp(p.i, "*") {
		p.i++
	}
	if p.i == p.end || p.toks[p.i].kind != tokWord && p.toks[p.i].kind != tokHole {
		return Unknown
	}
	kind := AlterTable
	p.commas(p.i, p.end, func(lo, hi int) {
		p.within(lo, hi, func() {
			a := p.alterAction()
			if a.Kind == DetachPartition {
				kind = DropPartition
				st.Drops = append(st.Drops, a.Table)
			}
			st.Alter = append(st.Alter, a)
		})
	})
	for _, a := range st.Alter {
		if a.Kind != OtherAlter {
			p.i = p.end
			return kind
		}
	}
	if !p.alterWord(p.i) {
		return Unknown
	}
	p.i = p.end
	return kind
}

// alterWord tells the words an action that says nothing here can start with.
func (p *parser) alterWord(i int) bool {
	return p.tok().kind == tokHole || p.isOneOf(i,
		"set", "reset", "owner", "enable", "disable", "validate", "cluster", "inherit", "no", "force",
		"engine", "convert", "alter", "add", "drop", "rename", "replica", "modify", "comment",
		"auto_increment", "of", "not", "on", "row", "delete", "update", "reorganize", "default", "split",
		"configure", "order")
}

// alterAction reads one action.
func (p *parser) alterAction() AlterAction {
	switch {
	case p.accept(kwAdd):
		return p.alterAdd()
	case p.accept(kwDrop):
		return p.alterDrop()
	case p.accept(kwAlter):
		return p.alterColumn()
	case p.acceptWord("modify"), p.acceptWord("change"):
		p.accept(kwColumn)
		a := AlterAction{Kind: ChangeColumn}
		if p.isWord(p.i-1, "change") || p.isKw(p.i-1, kwColumn) && p.isWord(p.i-2, "change") {
			a.Name = p.word()
		}
		a.Column, _ = p.column()
		if a.Name == "" {
			a.Name = a.Column.Name
		}
		return a
	case p.accept(kwRename):
		return p.alterRename()
	case p.accept(kwAttach, kwPartition):
		n, _ := p.name()
		return AlterAction{Kind: AttachPartition, Table: n}
	case p.accept(kwDetach, kwPartition):
		n, _ := p.name()
		return AlterAction{Kind: DetachPartition, Table: n}
	}
	return AlterAction{}
}

// word reads a name; "" when there is none.
func (p *parser) word() string {
	if t := p.tok(); t.kind == tokWord || t.kind == tokQuoted || t.kind == tokHole {
		p.i++
		return p.ident(t)
	}
	return ""
}

func (p *parser) alterAdd() AlterAction {
	if k, ok := p.constraint(); ok {
		if k.Columns == nil {
			return AlterAction{}
		}
		a := AlterAction{Kind: AddKey, Key: k}
		a.UsingIndex, a.Key.Name = p.usingIndex(k.Name)
		return a
	}
	if p.accept(kwPartition) {
		return AlterAction{}
	}
	p.accept(kwColumn)
	p.ifExists()
	if lo, hi, ok := p.group(); ok { // MySQL: ADD COLUMN (a int); one is what can be said in one action
		var a AlterAction
		p.within(lo, hi, func() { a = p.addColumn() })
		return a
	}
	return p.addColumn()
}

func (p *parser) addColumn() AlterAction {
	c, keys := p.column()
	if c.Name == "" {
		return AlterAction{}
	}
	a := AlterAction{Kind: AddColumn, Column: c}
	if len(keys) > 0 {
		a.Key = keys[0]
	}
	return a
}

// usingIndex finds PRIMARY KEY USING INDEX name, which keyColumns has passed over.
func (p *parser) usingIndex(name string) (bool, string) {
	for i := p.i - 1; i > 0 && i < p.end && p.i-i < 6; i-- {
		if p.isKw(i, kwIndex) && p.isKw(i-1, kwUsing) && i+1 < p.end {
			return true, p.ident(p.toks[i+1])
		}
	}
	return false, name
}

func (p *parser) alterDrop() AlterAction {
	switch {
	case p.accept(kwPrimary, kwKey):
		return AlterAction{Kind: DropPrimaryKey}
	case p.accept(kwConstraint), p.accept(kwIndex), p.accept(kwKey):
		p.ifExists()
		return AlterAction{Kind: DropConstraint, Name: p.word()}
	case p.accept(kwForeign):
		return AlterAction{}
	case p.isKw(p.i, kwPartition) && p.i+1 < p.end:
		p.i++
		p.ifExists()
		n, _ := p.name()
		return AlterAction{Kind: DetachPartition, Table: n}
	}
	p.accept(kwColumn)
	p.ifExists()
	return AlterAction{Kind: DropColumn, Name: p.word()}
}

func (p *parser) alterColumn() AlterAction {
	p.accept(kwColumn)
	a := AlterAction{Column: ColumnDef{Name: p.word()}}
	switch {
	case p.accept(kwSet, kwDefault):
		a.Kind = SetDefault
		a.Column.HasDefault = true
		a.Column.Default = p.expr(p.i, p.end)
	case p.accept(kwDrop, kwDefault):
		a.Kind = SetDefault
	}
	return a
}

func (p *parser) alterRename() AlterAction {
	if p.accept(kwTo) || p.accept(kwAs) {
		n, _ := p.name()
		return AlterAction{Kind: RenameTable, Table: n}
	}
	if p.isKw(p.i, kwConstraint) || p.isKw(p.i, kwIndex) || p.isKw(p.i, kwKey) && !p.isKw(p.i+1, kwTo) {
		return AlterAction{}
	}
	p.accept(kwColumn)
	a := AlterAction{Kind: RenameColumn, Name: p.word()}
	if !p.accept(kwTo) {
		return AlterAction{}
	}
	a.Column.Name = p.word()
	return a
}

// drop reads DROP TABLE and DROP INDEX.
func (p *parser) drop() Kind {
	kind := Other
	switch {
	case p.accept(kwTable), p.accept(kwForeign, kwTable):
		kind = DropTable
	case p.accept(kwIndex):
		kind = DropIndex
		p.accept(kwConcurrently)
	default:
		p.i++
		if p.isName(p.i) || p.isKw(p.i, kwIf) {
			p.i = p.end
			return Other
		}
		return Unknown
	}
	p.ifExists()
	p.nameList()
	if len(p.st.Drops) == 0 {
		return Unknown
	}
	p.st.Table = p.st.Drops[0]
	if kind == DropIndex {
		p.st.Table = Name{}
		if p.accept(kwOn) {
			p.st.Table, _ = p.name()
		}
	}
	if !p.accept(kwCascade) {
		p.acceptWord("restrict")
	}
	return kind
}
