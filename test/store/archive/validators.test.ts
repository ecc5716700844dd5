/** Archives of a hostile operator: what no grid makes is not imported. */
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { expect, test, vi } from 'vitest'
import * as schema from '../../../db/schema.ts'
import { printImported } from '../../../src/cli/import-archive.ts'
import { print } from '../../../src/cli/output.ts'
import { signArchive } from '../../../src/grid/accounts/archive.ts'
import { withSignature } from '../../../src/lib/signed-lines.ts'
import { fingerprintOf, type JWK } from '../../../src/lib/signing.ts'
import { accountColumns, archivedByName } from '../../../src/store/archive/tables.ts'
import { checkArchived, validators } from '../../../src/store/archive/validators.ts'
import { type Archive, archiveOf, importInto, textOf } from '../../support/archives.ts'
import { rows } from '../../support/database.ts'
import { emptyGrid, type TestGrid } from '../../support/grid.ts'
import { isolatedAccounts } from '../../support/isolated-accounts.ts'

const now = Date.now()
const world = await isolatedAccounts()
const archive = await archiveOf(world.grid.store, world.owner.id)

const columnsOf = new Map<string, readonly string[]>(
  [['accounts', accountColumns], ...[...archivedByName].map(([name, { columns }]) => [name, columns] as const)],
)
const all = [...columnsOf].flatMap(([table, columns]) => columns.map((column) => [table, column] as const))
const accepts = (table: string, column: string, value: unknown): boolean => {
  try {
    checkArchived(table, { [column]: value }, now)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_input' })
    return false
  }
}
const accepted = (values: readonly unknown[], columns = all) =>
  columns.flatMap(([table, column]) =>
    values.filter((value) => accepts(table, column, value)).map((value) => `${table}.${column} ${String(value)}`)
  )
const named = (pattern: RegExp) => all.filter(([, column]) => pattern.test(column))

test('every column of an archive has a validator, and no other has', () => {
  for (const [table, columns] of columnsOf) expect(Object.keys(validators[table])).toEqual(columns)
  expect(Object.keys(validators).sort()).toEqual([...columnsOf.keys(), 'people'].sort())
})

test('no column takes a value of another kind, a text with U+0000, or a number without bounds', () => {
  expect(accepted([{}, [], true, '\0', -1, 0.5, 2 ** 60, 'x'.repeat(20_000_000)])).toEqual([])
})

test('ids, times, aliases and addresses are as the product makes them', () => {
  // These name what another grid or a client calls something.
  const free = /^(context_id|conversation_id|artifact_id|credential_id|request_id|user_id)$/
  const ids = named(/(^|_)id$/).filter(([table, column]) =>
    !free.test(column) && `${table}.${column}` !== 'task_events.id'
  )
  expect(accepted(['', '../x', '<b>', `${crypto.randomUUID()}x`], ids)).toEqual([])
  expect(accepted([9e15, -5], named(/_at$|^at$|^hour$|_since$/))).toEqual([])
  expect(accepted([now + 2 * 86_400_000], named(/^(created|sent|read|joined)_at$/))).toEqual([])
  expect(accepted(['', '<img src=x>', 'Admin', 'a b', '\u001b[2J', 'x'.repeat(40)], named(/alias$|^recipient$/)))
    .toEqual([])
  expect(accepted(['javascript:alert(1)', 'data:text/html,x', 'file:///etc', 'x'], named(/_url$/))).toEqual([])
  expect(accepts('guardrails', 'config', '{"url":"javascript:alert(1)"}')).toBe(false)
  const later = { taskId: null, isInTaskAlone: false, expiresAt: null, contextId: null }
  const changes = [{ taskId: 5 }, { isInTaskAlone: 1 }, { expiresAt: 'x' }, { step: 7 }, { step: { state: 'x' } }]
  expect(accepts('held_messages', 'later', JSON.stringify({ ...later, step: { state: null } }))).toBe(true)
  expect(accepted(['{}', ...changes.map((change) => JSON.stringify({ ...later, ...change }))], named(/^later$/)))
    .toEqual([])
  expect(accepted(['{"name":"x","deciders":[{}],"id":null}', '{"deciders":[]}'], named(/^rule$/))).toEqual([])
  expect(accepted(['[null]', '[{"guardrail":"x"}]'], named(/^findings$/))).toEqual([])
  expect(accepted(['{"parts":5}', '{"parts":["x"]}', '{"more":[null]}', '{"choices":[1]}'], named(/^a2a$/))).toEqual([])
  expect(
    accepted(['{', '[1', '"x"', '['.repeat(100)], named(/^(config|a2a|rule|later|findings|deciders|turn_limits)$/)),
  )
    .toEqual([])
})

test('a column with a list of values in the schema takes these, and no other', () => {
  let found = 0
  for (const table of Object.values(schema).filter((one) => is(one, SQLiteTable))) {
    const name = String(getTableName(table))
    for (const { name: column, enumValues } of Object.values(getTableColumns(table))) {
      if (!enumValues || !columnsOf.get(name)?.includes(column)) continue
      found++
      const values = enumValues as string[]
      expect([name, column, values.filter((value) => accepts(name, column, value))]).toEqual([name, column, values])
      expect(accepts(name, column, 'unknown')).toBe(false)
    }
  }
  expect(found).toBeGreaterThan(20)
})

test('every row of a legal archive passes', () => {
  for (const line of archive.text.trimEnd().split('\n').slice(1, -1)) {
    checkArchived(...JSON.parse(line) as [string, object], now)
  }
})

/** The archive with other lines, signed by the operator who changed it. */
async function changed(change: (lines: string[]) => string[]): Promise<Archive> {
  let fingerprint = ''
  async function* lines() {
    yield* change(archive.text.trimEnd().split('\n').slice(0, -1))
  }
  const bytes = withSignature(lines(), async (list) => {
    const signed = await signArchive(world.grid.store, list)
    fingerprint = await fingerprintOf(signed.public_key as JWK)
    return signed
  })
  return { text: await textOf(bytes), fingerprint }
}
const replaced = (from: string | RegExp, to: string) => changed((lines) => lines.map((line) => line.replace(from, to)))
const { alias } = world.grid.alice

test.each<[string, () => Promise<Archive>]>([
  ['an empty account id', () => replaced(`"id":"${world.owner.id}"`, '"id":""')],
  ['an unknown type', () => replaced('"type":"mcp"', '"type":"root"')],
  ['markup in an alias', () => replaced(`"alias":"${alias}"`, '"alias":"<script>"')],
  ['a javascript address', () => replaced('"remote_url":null', '"remote_url":"javascript:alert(1)"')],
  ['hostile counts', () => replaced(/"left_out":\{/, '"left_out":{"<b>":"x",')],
  ['an unknown provider', () => replaced(/"provider":"[a-z-]+"/, '"provider":"trojan"')],
  ['an unknown column', () => replaced('"automated":0', '"automated":0,"moved_to":null')],
  ['a table that no archive has', () => changed((lines) => [...lines, '["credentials",{"id":"x"}]'])],
  ['a line of two rows', () => changed((lines) => [...lines, '["skills",{}],["skills",{}]'])],
  [
    'an agent that a reader of lines would overlook',
    () =>
      changed((lines) =>
        lines.map((line) => line.startsWith('["agents",') ? line.replace('["agents",', '[ "agents",') : line)
      ),
  ],
  [
    'a person with a hostile address',
    () =>
      changed((lines) => [...lines, '["people",{"email":"a@b.example\\r\\nBcc: x","role":"owner","agent_id":null}]']),
  ],
])('an archive with %s is refused before anything is written', async (_, make) => {
  const hostile = await make()
  expect(hostile.text).not.toBe(archive.text)
  const target = await emptyGrid()

  await expect(importInto(target.store, hostile)).rejects.toMatchObject({
    code: expect.stringMatching(/invalid|archive/),
  })

  expect(await rows(target as TestGrid, 'SELECT id FROM accounts')).toEqual([])
})

test('a reserved alias is named with --rename, and comes with another one', async () => {
  const hostile = await replaced(`"alias":"${alias}"`, '"alias":"admin"')
  const target = await emptyGrid()

  await expect(importInto(target.store, hostile)).rejects.toMatchObject({
    code: 'names_taken',
    message: expect.stringMatching(/alias @admin\. .*--rename OLD=NEW/),
  })
  const { keys } = await importInto(target.store, hostile, { renames: ['admin=harmless'] })

  expect(keys.map((key) => key.alias)).toContain('harmless')
})

test('the host of a guardrail is that of its configuration, whatever the archive says', async () => {
  const hostile = await changed((lines) =>
    lines.map((line) => {
      if (!line.startsWith('["guardrails",')) return line
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

test('what the import prints has nothing that a terminal obeys', async () => {
  const hostile = await replaced(
    /(\["guardrails",\{.*?"name":")[^"]*(".*?"host":)(null|"[^"]*")/,
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
