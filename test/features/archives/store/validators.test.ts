/** Archives from a hostile operator. Content that no grid produces is refused. */
import { archiveImports } from '../../../../src/features/archives/store/imports.ts'
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { expect, test, vi } from 'vitest'
import * as schema from '../../../../db/schema.ts'
import { printImported } from '../../../../src/features/archives/commands/import-archive.ts'
import { print } from '../../../../src/cli/output.ts'
import { archivedAccount, archivedByRecord } from '../../../../src/features/archives/store/tables.ts'
import { checkArchived, validators } from '../../../../src/features/archives/store/validators.ts'
import { type Archive, archiveOf, changed as changedBy, importInto, linesOf } from '../../../support/archives.ts'
import { rows } from '../../../support/database.ts'
import { emptyGrid, type TestGrid } from '../../../support/grid.ts'
import { isolatedAccounts } from '../../../support/isolated-accounts.ts'

const now = Date.now()
const world = await isolatedAccounts()
const archive = await archiveOf(world.grid.store, world.owner.id)

const fieldsOf = new Map<string, string[]>(
  [['account', archivedAccount] as const, ...archivedByRecord].map(([record, { fields, read = {} }]) => [
    record,
    Object.keys({ ...fields, ...read }),
  ]),
)
const all = [...fieldsOf].flatMap(([record, fields]) => fields.map((field) => [record, field] as const))
const accepts = (record: string, field: string, value: unknown): boolean => {
  try {
    checkArchived(record, { [field]: value }, now)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_input' })
    return false
  }
}
const accepted = (values: readonly unknown[], fields = all) =>
  fields.flatMap(([record, field]) =>
    values.filter((value) => accepts(record, field, value)).map((value) => `${record}.${field} ${String(value)}`)
  )
const named = (pattern: RegExp) => all.filter(([, field]) => pattern.test(field))

test('every archived field has a validator, and every validator has a field', () => {
  for (const [record, fields] of fieldsOf) expect(Object.keys(validators[record])).toEqual(fields)
  expect(Object.keys(validators).sort()).toEqual([...fieldsOf.keys(), 'person'].sort())
})

test('no field accepts a value of another type, a text with U+0000, or an unbounded number', () => {
  expect(accepted([{}, [], true, '\0', -1, 0.5, 2 ** 60, 'x'.repeat(20_000_000)])).toEqual([])
})

test("ids, times, aliases and addresses must have the grid's format", () => {
  // Another grid or a client chooses these ids, so they need not have the grid's format.
  const free = /^(context_id|conversation_id|artifact_id|credential_id|request_id|user_id)$/
  const ids = named(/(^|_)id$/).filter(([record, field]) =>
    !free.test(field) && `${record}.${field}` !== 'task_event.id'
  )
  expect(accepted(['', '../x', '<b>', `${crypto.randomUUID()}x`], ids)).toEqual([])
  expect(accepted([9e15, -5], named(/_at$|^at$|^hour$|_since$/))).toEqual([])
  expect(accepted([now + 2 * 86_400_000], named(/^(created|sent|read|joined)_at$/))).toEqual([])
  expect(accepted(['', '<img src=x>', 'Admin', 'a b', '\u001b[2J', 'x'.repeat(40)], named(/alias$|^recipient$/)))
    .toEqual([])
  expect(accepted(['javascript:alert(1)', 'data:text/html,x', 'file:///etc', 'x'], named(/_url$/))).toEqual([])
  expect(accepts('guardrail', 'config', '{"url":"javascript:alert(1)"}')).toBe(false)
  const delivery = { task_id: null, is_in_task_alone: false, expires_at: null, context_id: null }
  const changes = [{ task_id: 5 }, { is_in_task_alone: 1 }, { expires_at: 'x' }, { step: 7 }, { step: { state: 'x' } }]
  expect(accepts('held_message', 'delivery', JSON.stringify({ ...delivery, step: { state: null } }))).toBe(true)
  expect(accepted(['{}', ...changes.map((change) => JSON.stringify({ ...delivery, ...change }))], named(/^delivery$/)))
    .toEqual([])
  expect(accepted(['{"name":"x","deciders":[{}],"id":null}', '{"deciders":[]}'], named(/^rule$/))).toEqual([])
  expect(accepted(['[null]', '[{"guardrail":"x"}]'], named(/^findings$/))).toEqual([])
  expect(accepted(['{"parts":5}', '{"parts":["x"]}', '{"more":[null]}', '{"choices":[1]}'], named(/^details$/)))
    .toEqual([])
  expect(
    accepted(
      ['{', '[1', '"x"', '['.repeat(100)],
      named(/^(config|details|rule|delivery|findings|deciders|turn_limits)$/),
    ),
  )
    .toEqual([])
})

test('a field whose column has a list of values accepts exactly these values', () => {
  let found = 0
  const schemas = new Map(
    Object.values(schema).filter((one) => is(one, SQLiteTable)).map((one) => [String(getTableName(one)), one]),
  )
  for (const [record, { table, fields, convert = {} }] of archivedByRecord) {
    const columns = Object.values(getTableColumns(schemas.get(table)!))
    for (const [field, column] of Object.entries(fields)) {
      const values = columns.find(({ name }) => name === column)?.enumValues as string[] | undefined
      if (!values) continue
      found++
      const archived = values.map((value) => convert[field]?.toArchive(value) ?? value)
      expect([record, field, archived.filter((value) => accepts(record, field, value))])
        .toEqual([record, field, archived])
      expect(archived.map((value) => convert[field]?.fromArchive(value) ?? value)).toEqual(values)
      expect(accepts(record, field, 'unknown')).toBe(false)
    }
  }
  expect(found).toBeGreaterThan(20)
})

test('every row of a valid archive is accepted', () => {
  for (const line of linesOf(archive).slice(1)) {
    checkArchived(...JSON.parse(line) as [string, object], now)
  }
})

const changed = (change: (lines: string[]) => string[]) => changedBy(world.grid.store, archive, change)
const replaced = (from: string | RegExp, to: string) => changed((lines) => lines.map((line) => line.replace(from, to)))
const { alias } = world.grid.alice

test.each<[string, () => Promise<Archive>]>([
  ['an empty account id', () => replaced(`"id":"${world.owner.id}"`, '"id":""')],
  ['two agents of one alias', () => replaced('"alias":"bob"', `"alias":"${alias}"`)],
  ['an unknown type', () => replaced('"type":"mcp"', '"type":"root"')],
  ['markup in an alias', () => replaced(`"alias":"${alias}"`, '"alias":"<script>"')],
  ['a javascript address', () => replaced('"remote_url":null', '"remote_url":"javascript:alert(1)"')],
  ['hostile counts', () => replaced(/"left_out":\{/, '"left_out":{"<b>":"x",')],
  ['an unknown provider', () => replaced(/"provider":"[a-z-]+"/, '"provider":"trojan"')],
  ['an unknown field', () => replaced('"is_automated":0', '"is_automated":0,"moved_to":null')],
  ['a record that no archive has', () => changed((lines) => [...lines, '["credential",{"id":"x"}]'])],
  ['a line of two records', () => changed((lines) => [...lines, '["skill",{}],["skill",{}]'])],
  [
    'an agent that a reader of lines would overlook',
    () =>
      changed((lines) =>
        lines.map((line) => line.startsWith('["agent",') ? line.replace('["agent",', '[ "agent",') : line)
      ),
  ],
  [
    'a person with a hostile address',
    () =>
      changed((lines) => [...lines, '["person",{"email":"a@b.example\\r\\nBcc: x","role":"owner","agent_id":null}]']),
  ],
])('an import refuses an archive with %s, before it writes anything', async (_, make) => {
  const hostile = await make()
  expect(hostile.text).not.toBe(archive.text)
  const target = await emptyGrid()

  await expect(importInto(target.store, hostile)).rejects.toMatchObject({
    code: expect.stringMatching(/invalid|archive/),
  })

  expect(await rows(target as TestGrid, 'SELECT id FROM accounts')).toEqual([])
})

test.each([
  ['a later version', '"version":1', '"version":2', 'has version 2 of the format, and this program reads version 1'],
  [
    'no version',
    /"format":"agent-grid-archive","version":1/,
    '"agent_grid_archive":1,"schema":1',
    'from before version 1',
  ],
  ['another format', '"format":"agent-grid-archive"', '"format":"another"', 'not an archive made by export-account'],
])('an import refuses an archive of %s with a clear message, before it writes anything', async (_, from, to, words) => {
  const other = await replaced(from, to)
  const target = await emptyGrid()

  await expect(importInto(target.store, other)).rejects.toThrow(words)

  expect(await rows(target as TestGrid, 'SELECT id FROM accounts')).toEqual([])
})

test('for an archive of a later version, the error names the version and not the unknown content', async () => {
  const later = await changed(([manifest, ...lines]) => [
    manifest.replace('"version":1', '"version":2').replace('"account":{', '"account":{"new":1,'),
    '["novelty",{"id":1}]',
    ...lines,
  ])

  await expect(importInto((await emptyGrid()).store, later)).rejects.toThrow('has version 2 of the format')
})

test('a server refuses an archive of a later version, even if the importing program can read it', () => {
  const manifest = { ...JSON.parse(linesOf(archive)[0]), version: 2 }

  expect(() => world.grid.store.feature(archiveImports).begin(manifest, 'a list', now)).toThrow(
    'version 2 of the format',
  )
})

test('an agent with a reserved alias must be renamed with --rename', async () => {
  const hostile = await replaced(`"alias":"${alias}"`, '"alias":"admin"')
  const target = await emptyGrid()

  await expect(importInto(target.store, hostile)).rejects.toMatchObject({
    code: 'names_taken',
    message: expect.stringMatching(/alias @admin\. .*--rename OLD=NEW/),
  })
  const { keys } = await importInto(target.store, hostile, { renames: ['admin=harmless'] })

  expect(keys.map((key) => key.alias)).toContain('harmless')
})

test("an imported guardrail's host comes from its configuration, even if the archive names another", async () => {
  const hostile = await changed((lines) =>
    lines.map((line) => {
      if (!line.startsWith('["guardrail",')) return line
      const [table, row] = JSON.parse(line)
      const config = JSON.stringify({ url: 'https://evil.example/check' })
      return JSON.stringify([table, { ...row, provider: 'webhook', config, host: null }])
    })
  )
  const target = await emptyGrid()
  await importInto(target.store, hostile)

  const found = await rows(target as TestGrid, 'SELECT DISTINCT host FROM guardrails WHERE account_id = ?', [
    world.owner.id,
  ])
  expect(found).toEqual([{ host: 'evil.example' }])
})

test("the import's output contains no terminal control sequences", async () => {
  const hostile = await replaced(
    /(\["guardrail",\{.*?"name":")[^"]*(".*?"host":)(null|"[^"]*")/,
    '$1\\u001b]0;owned\\u0007\\nInvite eve@evil.example\u202e$2"evil.example"',
  )
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  const imported = await importInto((await emptyGrid()).store, hostile)
  print(printImported(imported))
  const [[printed]] = log.mock.calls
  log.mockRestore()

  expect(imported.guardrails.join()).toContain('\u001b')
  expect(printed).toContain('owned')
  expect(printed).not.toMatch(/^Invite eve/m)
  expect(printed).toMatch(/^(?:\n|[^\p{Cc}\u202a-\u202e])*$/u)
})
