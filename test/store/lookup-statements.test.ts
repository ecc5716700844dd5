/**
 * Every statement that the store prepares drops the look-ups that it may make wrong. What a statement changes is taken
 * from its SQL; SQLite is asked whether that is right. See docs/security.md, "Look-ups in memory".
 */
import { createClient } from '@libsql/client'
import { afterAll, expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { changeOf, readColumns } from '../../src/store/changes.ts'
import { preparedStatements } from '../support/statements.ts'

const { ofAccount, others, lookups } = preparedStatements()
const statements = [...ofAccount.keys(), ...others.keys()]
const changes = statements.flatMap((sql) => {
  const change = changeOf(sql)
  return change === 'nothing' ? [] : [{ sql, change }]
})
/** The queries whose rows are kept: what is not understood drops all of them. */
const queries = lookups.affectedBy('not understood').map(({ sql }) => sql)
const readTables = new Set(queries.flatMap((sql) => [...readColumns(sql).keys()]))

// On a client of its own, because `EXPLAIN` leaves a statement open. See docs/delivery.md, "Local client".
const client = createClient({ url: 'file::memory:', concurrency: 1 })
afterAll(() => client.close())
await migrate(client)
const tables = new Map(
  (await run(`SELECT rootpage, tbl_name FROM sqlite_master WHERE rootpage > 0`))
    .map(({ rootpage, tbl_name }) => [Number(rootpage), String(tbl_name)]),
)

test('what each statement changes is understood', () => {
  expect(changes.filter(({ change }) => change === 'unknown')).toEqual([])
  expect(changes.length).toBeGreaterThan(100)
})

/**
 * What triggers write. They change the state and the times of tasks, and a look-up tells only whether a task has a time at
 * which it fails: the triggers neither give nor take one.
 */
const writtenByTriggers = ['tasks']

test('SQLite writes to no table of a look-up but the one that the SQL names, also in triggers', async () => {
  const unexpected: unknown[] = []
  for (const { sql, change } of changes) {
    const named = typeof change === 'string' ? undefined : change.table
    const written = (await opened(sql, 'OpenWrite')).filter((table) =>
      table !== named && readTables.has(table) && !writtenByTriggers.includes(table)
    )
    if (written.length > 0) unexpected.push({ sql, written })
  }
  expect(unexpected).toEqual([])
  // What a trigger writes is seen, too.
  const revocation = changes.find(({ sql }) => sql.startsWith('update "credentials" set "revoked_at"'))!
  expect(await opened(revocation.sql, 'OpenWrite')).toEqual(expect.arrayContaining(['credentials', 'wake_signals']))
})

test.each(queries)('SQLite reads no table but those that the SQL names: %s', async (sql) => {
  const named = readColumns(sql)

  const read = await opened(sql, 'OpenRead')
  expect(read.filter((table) => !named.has(table))).toEqual([])
  expect(read).not.toEqual([])
  expect(named.size).toBeGreaterThan(0)
})

/** Statements that change a table of a look-up and drop nothing. Adding one is a decision, which is made here. */
const harmless: [beginning: string, reason: string][] = [
  ['update "agents" set "last_seen_at" = ?', 'is read from the table by each receipt'],
  ['update "agents" set "encrypted_token" = ?', 'the token of a remote agent'],
  ['update "credentials" set "last_used_at" = ?', 'whoever authenticates remembers the uses that it recorded'],
  ['update "trials" set "used" = max', 'a look-up tells only whether there is a trial'],
  ['update "trials" set "ended_at" = ?', 'a look-up tells only whether there is a trial'],
  ['insert into "deliveries"', 'a message gives a right to answer and takes none'],
  ['update "deliveries" set "state" = ?', 'a right to answer depends on no state'],
  ['update "deliveries" set "woken_at" = ?', 'a right to answer depends on no state'],
  ['update "deliveries" set "lease_id" = ?', 'a right to answer depends on no lease'],
  ['update "deliveries" set "sender_account_id" = ?', 'a right to answer depends on the agent'],
  ['update "accounts" set "name" = ?', 'a name'],
  ['update "accounts" set "turn_limits" = ?', 'limits of conversations'],
  ['update "agents" set "automated" = ?', 'a mark that only the counts of turns look at'],
  ['update "tasks" set "mode" = ', 'a look-up tells only which task is open'],
  ['update "accounts" set "people_see_contents" = ?', 'a rule for people'],
  ['update "accounts" set "people_read_since" = ?', 'a rule for people'],
  ['update "accounts" set "requires_second_factor" = ?', 'a rule for people'],
  ['update "accounts" set "join_email" = ?', 'a rule for signups'],
  ['insert into "oauth_grants"', 'a key with a grant is not kept'],
  ['update "oauth_grants"', 'a key with a grant is not kept'],
  ['delete from "oauth_grants"', 'a key with a grant is not kept'],
]

test('every statement that changes a table of a look-up drops it, except the listed ones', () => {
  const silent = changes.filter(({ sql, change }) =>
    typeof change !== 'string' && readTables.has(change.table) && lookups.affectedBy(sql).length === 0
  ).map(({ sql }) => sql)

  expect(silent.filter((sql) => !harmless.some(([beginning]) => sql.startsWith(beginning)))).toEqual([])
  expect(harmless.filter(([beginning]) => !silent.some((sql) => sql.startsWith(beginning)))).toEqual([])
})

test('a statement that drops only one account changes that account, or what it sent', () => {
  const bound = changes.filter(({ sql }) => ofAccount.has(sql) && lookups.affectedBy(sql).length > 0)
  const isTied = ({ sql, change }: typeof bound[number]) => {
    if (typeof change === 'string') return false
    const column = change.table === 'accounts' ? 'id' : 'account_id'
    return change.kind === 'insert'
      ? sql.startsWith(`insert into "${change.table}" ("account_id"`)
      : sql.includes(` where ("${change.table}"."${column}" = ?`) ||
        sql.includes(` where "${change.table}"."${column}" = ?`) ||
        // A task depends on both accounts: that of its client, and that of its recipient, which looks it up.
        sql.startsWith('update "tasks" set "state" = coalesce(') ||
        // A right to answer depends on both accounts: where the message is, and who sent it.
        sql.startsWith('delete from "deliveries" where ("deliveries"."sender_account_id" = ?')
  }

  expect(bound.filter((statement) => !isTied(statement)).map(({ sql }) => sql)).toEqual([])
  expect(bound.length).toBeGreaterThan(15)
})

async function opened(sql: string, opcode: string): Promise<string[]> {
  const program = await run(`EXPLAIN ${sql}`, (sql.match(/\?/g) ?? []).map(() => null))
  return [...new Set(program.filter((step) => step.opcode === opcode).map(({ p2 }) => tables.get(Number(p2))!))]
}

async function run(sql: string, args: null[] = []) {
  return (await client.execute({ sql, args })).rows
}
