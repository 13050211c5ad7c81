package sqltext

import (
	"path/filepath"
	"strings"
)

// create takes a CREATE TABLE.
func (s *Schema) create(p placed) {
	t := s.table(p.st.Table)
	if t == nil || p.st.Def.Temporary {
		return
	}
	def := p.st.Def
	d := &Definition{
		Name: p.st.Table, Position: p.pos, Columns: def.Columns, Keys: def.Keys,
		PartitionBy: def.PartitionBy, PartitionColumns: def.PartitionColumns,
		Open: p.st.Open || def.FromQuery || len(def.Columns) == 0, Expires: def.Expires,
	}
	if !def.Like.IsZero() {
		d.like(s.Table(def.Like), def.LikeKeys)
	}
	t.Definitions = append(t.Definitions, d)
	s.settle(t, d)
}

// like copies what LIKE takes over from another table.
func (d *Definition) like(from *Table, keys bool) {
	if from == nil || len(from.Definitions) == 0 {
		d.Open = true
		return
	}
	other := from.Definitions[len(from.Definitions)-1]
	d.Columns = append(append([]ColumnDef(nil), other.Columns...), d.Columns...)
	d.Open = other.Open
	if keys {
		d.Keys = append(append([]Key(nil), other.Keys...), d.Keys...)
	}
}

// settle makes the changes to a new definition that have been added before it: files come in the order of their
// paths, which need not be the order in which they run.
func (s *Schema) settle(t *Table, d *Definition) {
	kept := s.pending[:0]
	for _, p := range s.pending {
		if p.st.Table.Same(t.Name) {
			s.alter(t, d, p)
			continue
		}
		kept = append(kept, p)
	}
	s.pending = kept
}

// change takes an ALTER TABLE, CREATE INDEX or DROP INDEX.
func (s *Schema) change(p placed) {
	if p.st.Kind == DropIndex {
		s.dropIndexes(p)
		return
	}
	for _, a := range p.st.Alter {
		if a.Kind == AttachPartition {
			s.parents[strings.ToLower(a.Table.Name)] = p.st.Table
		}
	}
	t := s.Table(p.st.Table)
	if t == nil || len(t.Definitions) == 0 {
		s.pending = append(s.pending, p)
		return
	}
	for _, d := range t.Definitions {
		s.alter(t, d, p)
	}
	for _, a := range p.st.Alter {
		if a.Kind == RenameTable {
			s.rename(t, a.Table)
		}
	}
}

func (s *Schema) rename(t *Table, to Name) {
	old := strings.ToLower(t.Name.Name)
	list := s.tables[old][:0]
	for _, o := range s.tables[old] {
		if o != t {
			list = append(list, o)
		}
	}
	s.tables[old] = list
	t.Name.Name = to.Name
	if to.Schema != "" {
		t.Name.Schema = to.Schema
	}
	key := strings.ToLower(to.Name)
	s.tables[key] = append(s.tables[key], t)
}

// alter changes one definition.
func (s *Schema) alter(t *Table, d *Definition, p placed) {
	if x := p.st.Index; x != nil {
		if x.Unique {
			d.Keys = append(d.Keys, x.Key)
		}
		return
	}
	for _, a := range p.st.Alter {
		switch a.Kind {
		case AddKey:
			d.addKey(a)
		case AddColumn:
			d.Columns = append(d.Columns, a.Column)
			if a.Key.Columns != nil {
				d.Keys = append(d.Keys, a.Key)
			}
		case DropConstraint:
			d.dropKeys(t.Name, func(k Key, name string) bool { return strings.EqualFold(name, a.Name) })
		case DropPrimaryKey:
			d.dropKeys(t.Name, func(k Key, _ string) bool { return k.Primary })
		case DropColumn:
			d.dropColumn(t.Name, a.Name)
		case SetDefault:
			if c := d.column(a.Column.Name); c != nil {
				c.HasDefault, c.Default = a.Column.HasDefault, a.Column.Default
			}
		case ChangeColumn:
			if c := d.column(a.Name); c != nil {
				*c = a.Column
				d.renameColumn(a.Name, a.Column.Name)
			}
		case RenameColumn:
			if c := d.column(a.Name); c != nil {
				c.Name = a.Column.Name
				d.renameColumn(a.Name, a.Column.Name)
			}
		}
	}
}

// addKey adds a key, or makes an index that is there the primary key.
func (d *Definition) addKey(a AlterAction) {
	if !a.UsingIndex {
		d.Keys = append(d.Keys, a.Key)
		return
	}
	for i := range d.Keys {
		if strings.EqualFold(d.Keys[i].Name, a.Key.Name) {
			d.Keys[i].Primary = a.Key.Primary
			return
		}
	}
}

func (d *Definition) column(name string) *ColumnDef {
	for i := range d.Columns {
		if strings.EqualFold(d.Columns[i].Name, name) {
			return &d.Columns[i]
		}
	}
	return nil
}

func (d *Definition) renameColumn(from, to string) {
	for i := range d.Keys {
		cols := append([]string(nil), d.Keys[i].Columns...)
		for j, c := range cols {
			if strings.EqualFold(c, from) {
				cols[j] = to
			}
		}
		d.Keys[i].Columns = cols
	}
}

// dropKeys drops the keys that match by themselves or by their name, the one PostgreSQL gives them included.
func (d *Definition) dropKeys(table Name, match func(k Key, name string) bool) {
	kept := make([]Key, 0, len(d.Keys))
	for _, k := range d.Keys {
		if !match(k, k.nameIn(table)) {
			kept = append(kept, k)
		}
	}
	d.Keys = kept
}

// nameIn is the key's name, or the one PostgreSQL makes up for it.
func (k Key) nameIn(table Name) string {
	switch {
	case k.Name != "":
		return k.Name
	case k.Primary:
		return table.Name + "_pkey"
	}
	return table.Name + "_" + strings.Join(k.Columns, "_") + "_key"
}

// dropColumn drops a column and, as the database does, every key that holds it.
func (d *Definition) dropColumn(table Name, name string) {
	kept := make([]ColumnDef, 0, len(d.Columns))
	for _, c := range d.Columns {
		if !strings.EqualFold(c.Name, name) {
			kept = append(kept, c)
		}
	}
	d.Columns = kept
	d.dropKeys(table, func(k Key, _ string) bool { return k.has(name) })
}

func (k Key) has(column string) bool {
	for _, c := range k.Columns {
		if strings.EqualFold(c, column) {
			return true
		}
	}
	return false
}

func (s *Schema) dropIndexes(p placed) {
	for _, t := range s.order {
		for _, d := range t.Definitions {
			d.dropKeys(t.Name, func(k Key, name string) bool {
				for _, n := range p.st.Drops {
					if strings.EqualFold(n.Name, name) && (p.st.Table.IsZero() || p.st.Table.Same(t.Name)) {
						return true
					}
				}
				return false
			})
		}
	}
}

// drop takes a DROP TABLE: of a partition, it is the parent's cleanup. A table is gone only when a .sql file beside
// the one that created it drops it: Go code runs in no order that is known here, nor do scripts that tidy up.
func (s *Schema) drop(p placed, c context) {
	for _, n := range p.st.Drops {
		if up := s.parent(n); up != n {
			s.clean(Cleanup{Kind: PartitionDrop, Table: up}, p, c)
			continue
		}
		t := s.Table(n)
		switch {
		case t == nil:
			s.clean(Cleanup{Kind: UnknownTableDrops, Table: n}, p, c)
		case strings.EqualFold(filepath.Ext(p.pos.File), ".sql") && c.routine == "" && !c.scheduled:
			t.drop(filepath.Dir(p.pos.File))
		}
	}
}

// drop forgets the definitions of one folder.
func (t *Table) drop(folder string) {
	var kept []*Definition
	for _, d := range t.Definitions {
		if filepath.Dir(d.File) != folder {
			kept = append(kept, d)
		}
	}
	t.Definitions = kept
}
