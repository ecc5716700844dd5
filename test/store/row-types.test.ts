/**
 * Prepares every statement of the store on the migrated database, and compares a query's columns with the row type in
 * the code: the names in both directions, and the types that SQLite knows. The comparisons are written into a copy of
 * the sources as types, and the type checker checks the copy.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { runtimeBinary } from '../../scripts/runtime.ts'
import type { DeclaredQuery } from '../support/statement-columns.ts'

/** The row types by declared column type. A decoder may turn a text into an object, and a number into a boolean. */
const typesOf: Record<string, string> = {
  TEXT: 'string | object',
  INTEGER: 'number | boolean | bigint',
  BLOB: 'object',
}

const checked = `
/** What is wrong with a row type; \`true\` if it has exactly these columns. */
export type Checked<Row, Columns> = [keyof Row] extends [keyof Columns]
  ? [keyof Columns] extends [keyof Row]
    ? [Mistyped<Row, Columns>] extends [never] ? true : { mistyped: Mistyped<Row, Columns> }
  : { onlyInSql: Exclude<keyof Columns, keyof Row> }
  : { onlyInType: Exclude<keyof Row, keyof Columns> }
type Mistyped<Row, Columns> = {
  [Name in keyof Row & keyof Columns]: NonNullable<Row[Name]> extends Columns[Name] ? never : Name
}[keyof Row & keyof Columns]
`

test("every query's row type has the columns that the query returns", () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-rows-'))
  try {
    for (const name of ['src', 'db', 'deno.json']) cpSync(name, join(folder, name), { recursive: true })
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'src/store/checked.ts'), checked)
    const program = ['--import', 'tsx', 'test/support/statement-columns.ts']
    const queries: DeclaredQuery[] = JSON.parse(execFileSync(process.execPath, program, { encoding: 'utf8' }))
    const files = new Map<string, { text: string; checks: string[] }>()
    let count = 0
    for (const { place, columns } of queries) {
      const [, path, line, column] = /^(.+):(\d+):(\d+)$/.exec(place)!
      const file = files.get(path) ?? { text: readFileSync(path, 'utf8'), checks: [] }
      const rowType = rowTypeAt(file.text, Number(line), Number(column), place)
      if (rowType === undefined) continue
      files.set(path, file)
      count++
      file.checks.push(`const _check${count}: Checked<${rowType}, ${typeOf(columns)}> = true // ${place}`)
    }
    for (const [path, { text, checks }] of files) {
      const up = '../'.repeat(path.split('/').length - 3) || './'
      const own = [`import type { Checked } from '${up}checked.ts'`, ...checks].join('\n')
      writeFileSync(join(folder, path), `${text}\n${own}\n`)
    }
    const config = readFileSync('deno.json', 'utf8').replace('"noUnusedLocals": true', '"noUnusedLocals": false')
    writeFileSync(join(folder, 'deno.json'), config)
    const { stdout, stderr } = spawnSync(runtimeBinary('deno'), ['check', 'src/store/store.ts'], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    })

    const errors = `${stdout}${stderr}`.split('\n\n').filter((text) => text.includes('[ERROR]'))
    expect(errors).toEqual([])
    expect(stderr).toContain('Check')
    expect(count).toBeGreaterThan(300)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Calls without a row type: statements, whose rows are `Row`, and queries that only ask whether a row exists. */
const untyped =
  /^(?:(?:query|crossAccountQuery|statement|crossAccountStatement|traffic|precondition)\(|map\((?:statement|traffic)\))/

/**
 * Returns the row type of the query created at this position, or undefined if it has none. Throws for a call that it
 * cannot parse.
 */
function rowTypeAt(text: string, line: number, column: number, place: string): string | undefined {
  const at = text.split('\n').slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0) + column - 1
  const call = text.slice(at)
  if (untyped.test(call)) return undefined
  const made = /^(?:crossAccountQuery|query)</.exec(call)
  if (!made) throw new Error(`This test cannot read the row type at ${place}: ${call.slice(0, 80)}`)
  let depth = 1
  let end = at + made[0].length
  for (; depth > 0; end++) {
    if (text[end] === '<') depth++
    if (text[end] === '>' && text[end - 1] !== '=') depth--
  }
  return text.slice(at + made[0].length, end - 1)
}

function typeOf(columns: DeclaredQuery['columns']): string {
  const fields = columns.map(({ name, type }) => {
    const field = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    return `${JSON.stringify(field)}: ${type === null ? 'any' : typesOf[type] ?? 'any'}`
  })
  return `{ ${fields.join('; ')} }`
}
