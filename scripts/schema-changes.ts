/** Compares two schemas: the statements of a migration step, and whether the previous version can use its result. */
import Database from 'libsql'

interface Column {
  name: string
  type: string
  notnull: number
  dflt_value: string | null
  pk: number
}

interface Reference {
  id: number
  table: string
  from: string
  on_delete: string
}

interface SchemaObject {
  type: string
  name: string
  /** The table that an index or trigger belongs to, otherwise the object's own name. */
  tbl_name: string
  sql: string
  columns: Column[]
  references: Reference[]
}

/** Schema objects by name, in order of creation. */
export type Schema = Map<string, SchemaObject>

/** The schema that these statements create, including the rows that they insert. */
export function schemaAfter(statements: readonly string[]): Schema {
  const database = new Database(':memory:')
  for (const statement of statements) database.exec(statement)
  const schema = schemaOf(database)
  for (const { type, name, sql } of [...schema.values()]) {
    if (type !== 'table' || /^CREATE VIRTUAL/i.test(sql)) continue
    const rows = database.prepare(`SELECT * FROM "${name}"`).all()
    const initial = { type: 'rows', name: `the first rows of ${name}`, tbl_name: name, sql: JSON.stringify(rows) }
    if (rows.length > 0) schema.set(initial.name, { ...initial, columns: [], references: [] })
  }
  return schema
}

/** Returns a database's schema, without the internal tables of indexes and migrations. */
export function schemaOf(database: Database.Database): Schema {
  const objects = database.prepare(
    `SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
      AND name NOT LIKE '%!_search!_%' ESCAPE '!' AND name <> '__drizzle_migrations' ORDER BY rowid`,
  ).all() as SchemaObject[]
  const details = (pragma: string, name: string) => database.prepare(`PRAGMA ${pragma}("${name}")`).all()
  return new Map(objects.map((object) => {
    const { type, name } = object
    const columns = (/table|view/.test(type) ? details('table_info', name) : []) as Column[]
    const references = (type === 'table' ? details('foreign_key_list', name) : []) as Reference[]
    return [name, { ...object, columns, references }]
  }))
}

/** The names of differing objects. Order and white space are ignored. */
export function differences(one: Schema, other: Schema): string[] {
  const names = new Set([...one.keys(), ...other.keys()])
  return [...names].filter((name) => textOf(one.get(name)) !== textOf(other.get(name)))
}

function textOf(object: SchemaObject | undefined): string | undefined {
  return object?.sql.replace(/\s+/g, ' ').replace(/ ?([(),]) ?/g, '$1')
}

/**
 * The statements that turn `before` into `after`: new objects, new columns at the end of a table, and changed triggers,
 * views and indexes. Other changes to a table are not included; `differences` finds them.
 */
export function statementsBetween(before: Schema, after: Schema): string[] {
  const changed = differences(before, after)
  // The order matters: a trigger may read a view, and a view may read a table.
  const kinds = ['table', 'index', 'view', 'trigger']
  const of = (schema: Schema) =>
    kinds.map((kind) => changed.flatMap((name) => schema.get(name) ?? []).filter(({ type }) => type === kind))
  const [tables, ...others] = of(before)
  const [newTables, ...newOthers] = of(after)
  const gone = [...others.reverse().flat(), ...tables.filter(({ name }) => !after.has(name))]
  return [
    ...gone.map(({ type, name }) => `DROP ${type.toUpperCase()} \`${name}\``),
    ...newTables.flatMap((table) => before.has(table.name) ? columnsOf(before.get(table.name)!, table) : [table.sql]),
    ...newOthers.flat().map(({ sql }) => sql),
  ].map((sql) => `${sql};`)
}

/** The definitions of columns that only `after` has, one line of text each. */
function columnsOf(before: SchemaObject, after: SchemaObject): string[] {
  const isNew = ({ name }: Column) => !before.columns.some((column) => column.name === name)
  return after.columns.filter(isNew).map(({ name }) => {
    const line = after.sql.split('\n').find((line) => line.trim().startsWith(`\`${name}\` `))
    return `ALTER TABLE \`${after.name}\` ADD ${line?.trim().replace(/,$/, '')}`
  })
}

/** The reasons why a program that knows only `before` cannot use `after`. */
export function incompatibilities(before: Schema, after: Schema): string[] {
  const reasons: string[] = []
  for (const [name, { type, columns, ...old }] of before) {
    const found = after.get(name)
    const isUnique = /^CREATE UNIQUE/i.test(old.sql)
    const isVirtual = /^CREATE VIRTUAL/i.test(old.sql)
    if (!found && (type !== 'index' || isUnique)) reasons.push(`the ${type} ${name} is gone`)
    if (!found) continue
    if ((isUnique || isVirtual) && textOf(found) !== textOf({ type, columns, ...old })) {
      reasons.push(`the ${type} ${name} changed`)
    }
    for (const column of columns) {
      const now = found.columns.find((other) => other.name === column.name)
      if (!now) reasons.push(`the column ${name}.${column.name} is gone`)
      else if (now.type !== column.type || now.notnull !== column.notnull || now.pk !== column.pk) {
        reasons.push(`the column ${name}.${column.name} changed`)
      }
    }
  }
  for (const object of after.values()) {
    const { type, name, tbl_name: table, sql, columns } = object
    const old = before.get(table)
    const isKnown = (column: string) => old?.columns.some((other) => other.name === column) ?? false
    if (old && type === 'table') {
      for (
        const column of columns.filter((column) =>
          !isKnown(column.name) && column.notnull && column.dflt_value === null
        )
      ) {
        reasons.push(`the column ${name}.${column.name} has no default and is not nullable`)
      }
    }
    const isOther = textOf(before.get(name)) !== textOf(object)
    if (old && isOther && type === 'index' && /^CREATE UNIQUE/i.test(sql)) {
      reasons.push(`the unique index ${name} is new`)
    }
    if (old && isOther && type === 'trigger' && /\bRAISE\b/i.test(sql)) reasons.push(`the trigger ${name} refuses rows`)
    reasons.push(...badReferences(object, old, before, isKnown))
  }
  return [...new Set(reasons)]
}

/** The references that prevent an older program from writing or removing a row. */
function badReferences(
  { name, references }: SchemaObject,
  old: SchemaObject | undefined,
  before: Schema,
  isKnown: (column: string) => boolean,
): string[] {
  const keyOf = (object: SchemaObject | undefined, id: number) =>
    JSON.stringify(
      object?.references.filter((reference) => reference.id === id).map(({ table, from }) => [table, from]),
    )
  const known = new Set(old?.references.map(({ id }) => keyOf(old, id)))
  return references.filter(({ id }) => !known.has(keyOf({ references } as SchemaObject, id))).flatMap((reference) => {
    const columns = references.filter(({ id }) => id === reference.id)
    if (columns.every(({ from }) => isKnown(from))) return [`the table ${name} has a new foreign key on known columns`]
    const isFree = !before.has(reference.table) || /CASCADE|SET NULL/.test(reference.on_delete)
    return isFree ? [] : [`the table ${name} keeps rows of ${reference.table} from being deleted`]
  })
}
