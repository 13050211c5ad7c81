package oracle_test

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// pgDefinition says what PostgreSQL sees in statements about tables.
func (v *view) pgDefinition(n *pg.Node) {
	switch s := n.Node.(type) {
	case *pg.Node_CreateStmt:
		v.pgTable(s.CreateStmt)
	case *pg.Node_CreateTableAsStmt:
		if s.CreateTableAsStmt.Objtype == pg.ObjectType_OBJECT_TABLE && !s.CreateTableAsStmt.IsSelectInto {
			v.kind = "CreateTable"
			v.add("table %s", rangeVar(s.CreateTableAsStmt.Into.Rel))
			v.add("from a query")
		}
	case *pg.Node_IndexStmt:
		v.kind = "CreateIndex"
		x := s.IndexStmt
		v.add("table %s", rangeVar(x.Relation))
		v.add("unique %v concurrently %v partial %v", x.Unique, x.Concurrent, x.WhereClause != nil)
		var cols []string
		for _, e := range x.IndexParams {
			cols = append(cols, e.GetIndexElem().Name)
		}
		v.list("index on", cols)
	case *pg.Node_DropStmt:
		switch s.DropStmt.RemoveType {
		case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_FOREIGN_TABLE:
			v.kind = "DropTable"
		case pg.ObjectType_OBJECT_INDEX:
			v.kind = "DropIndex"
		default:
			return
		}
		var names []string
		for _, o := range s.DropStmt.Objects {
			var parts []string
			for _, i := range o.GetList().GetItems() {
				parts = append(parts, i.GetString_().GetSval())
			}
			names = append(names, strings.Join(parts[max(0, len(parts)-2):], "."))
		}
		v.list("drops", names)
	case *pg.Node_AlterTableStmt:
		if s.AlterTableStmt.Objtype == pg.ObjectType_OBJECT_TABLE {
			v.pgAlter(s.AlterTableStmt)
		}
	case *pg.Node_AlterObjectSchemaStmt:
		if r := s.AlterObjectSchemaStmt; r.ObjectType == pg.ObjectType_OBJECT_TABLE {
			v.kind = "AlterTable"
			v.add("table %s", rangeVar(r.Relation))
		}
	case *pg.Node_RenameStmt:
		r := s.RenameStmt
		switch {
		case r.RenameType == pg.ObjectType_OBJECT_TABLE:
			v.kind = "AlterTable"
			v.add("table %s", rangeVar(r.Relation))
			v.add("rename to %s", r.Newname)
		case r.RenameType == pg.ObjectType_OBJECT_TABCONSTRAINT:
			v.kind = "AlterTable"
			v.add("table %s", rangeVar(r.Relation))
		case r.RenameType == pg.ObjectType_OBJECT_COLUMN && r.RelationType == pg.ObjectType_OBJECT_TABLE:
			v.kind = "AlterTable"
			v.add("table %s", rangeVar(r.Relation))
			v.add("rename %s to %s", r.Subname, r.Newname)
		}
	}
}

func (v *view) pgTable(s *pg.CreateStmt) {
	v.kind = "CreateTable"
	if s.Partbound != nil {
		v.kind = "CreatePartition"
		v.add("table %s of %s", rangeVar(s.Relation), rangeVar(s.InhRelations[0].GetRangeVar()))
	} else {
		v.add("table %s", rangeVar(s.Relation))
	}
	v.add("temporary %v if not exists %v", s.Relation.Relpersistence == "t", s.IfNotExists)
	var cols, keys []string
	for _, e := range s.TableElts {
		switch {
		case e.GetColumnDef() != nil:
			d := e.GetColumnDef()
			notNull, def := d.IsNotNull, d.RawDefault != nil
			for _, c := range d.Constraints {
				k := c.GetConstraint()
				switch k.Contype {
				case pg.ConstrType_CONSTR_NOTNULL:
					notNull = true
				case pg.ConstrType_CONSTR_DEFAULT:
					def = true
				case pg.ConstrType_CONSTR_PRIMARY:
					notNull = true
					keys = append(keys, "primary("+d.Colname+")")
				case pg.ConstrType_CONSTR_UNIQUE:
					keys = append(keys, "unique("+d.Colname+")")
				}
			}
			cols = append(cols, d.Colname+mark(notNull, " not null")+mark(def, " default"))
		case e.GetConstraint() != nil:
			if k := pgKey(e.GetConstraint()); k != "" {
				keys = append(keys, k)
			}
		}
	}
	v.list("columns", cols)
	slices.Sort(keys)
	v.list("keys", keys)
	if p := s.Partspec; p != nil {
		v.add("partition by %s", strings.TrimPrefix(strings.ToLower(p.Strategy.String()), "partition_strategy_"))
	}
}

func mark(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

func pgKey(c *pg.Constraint) string {
	var cols []string
	for _, k := range c.Keys {
		cols = append(cols, k.GetString_().Sval)
	}
	switch c.Contype {
	case pg.ConstrType_CONSTR_PRIMARY:
		return "primary(" + strings.Join(cols, ",") + ")"
	case pg.ConstrType_CONSTR_UNIQUE:
		return "unique(" + strings.Join(cols, ",") + ")"
	}
	return ""
}

func (v *view) pgAlter(s *pg.AlterTableStmt) {
	v.kind = "AlterTable"
	v.add("table %s", rangeVar(s.Relation))
	for _, n := range s.Cmds {
		c := n.GetAlterTableCmd()
		switch c.Subtype {
		case pg.AlterTableType_AT_DetachPartition, pg.AlterTableType_AT_DetachPartitionFinalize:
			v.kind = "DropPartition"
			v.add("detach %s", rangeVar(c.Def.GetPartitionCmd().Name))
		case pg.AlterTableType_AT_AttachPartition:
			v.add("attach %s", rangeVar(c.Def.GetPartitionCmd().Name))
		case pg.AlterTableType_AT_AddConstraint:
			if k := pgKey(c.Def.GetConstraint()); k != "" {
				v.add("add %s", k)
			}
		case pg.AlterTableType_AT_AddColumn:
			v.add("add column %s", c.Def.GetColumnDef().Colname)
		case pg.AlterTableType_AT_DropConstraint:
			v.add("drop constraint %s", c.Name)
		case pg.AlterTableType_AT_DropColumn:
			v.add("drop column %s", c.Name)
		case pg.AlterTableType_AT_ColumnDefault:
			v.add("default of %s %v", c.Name, c.Def != nil)
		}
	}
}
