/**
 * Writes the history of a long-used grid directly into the tables, because a million sends would take minutes. If the
 * schema has changed, the inserts or the final foreign key check fail.
 */
import type { Client, InStatement } from '@libsql/client'

/** These settings are safe because no other process uses the new local file, and the file need not survive a crash. */
const pragmas = `
PRAGMA synchronous = OFF;
PRAGMA journal_mode = MEMORY;
PRAGMA foreign_keys = OFF;
PRAGMA cache_size = -500000`

/** Rows per statement. A statement takes a few tenths of a second. */
const chunk = 20_000

/**
 * Adds agents until the account has `agents` of them. Adds `messages` messages, evenly distributed over the agents. All
 * messages were sent and read more than a day ago.
 */
export async function fill(
  client: Client,
  account: string,
  { agents, messages, isLocal }: { agents: number; messages: number; isLocal: boolean },
): Promise<void> {
  // The settings apply only to filling. The service sets its own.
  if (isLocal) await client.executeMultiple(pragmas)
  const { rows: [{ n: existing }] } = await client.execute('SELECT count(*) AS n FROM agents')
  const day = 24 * 3_600_000
  const from = Date.now() - 30 * day
  const until = Date.now() - day

  await inChunks(
    client,
    Number(existing),
    agents,
    (first, end) => [{ sql: insertAgents, args: { account, from, first, end } }],
  )
  await client.execute({ sql: numberAgents, args: { account } })
  await client.execute('CREATE TABLE bench_agents (n INTEGER PRIMARY KEY, id TEXT NOT NULL, alias TEXT NOT NULL)')
  await client.execute(insertBenchAgents)
  await withoutIndexes(client, ['messages', 'deliveries'], async () => {
    await inChunks(client, 0, messages, (first, end) => {
      const args = { account, from, until, first, end, messages, agents }
      return [{ sql: insertMessages, args }, { sql: insertDeliveries, args }]
    })
  })
  await client.execute('DROP TABLE bench_agents')
  await check(client, { agents, messages })
}

async function inChunks(
  client: Client,
  first: number,
  end: number,
  statements: (first: number, end: number) => InStatement[],
): Promise<void> {
  for (let at = first; at < end; at += chunk) await client.batch(statements(at, Math.min(end, at + chunk)), 'write')
}

/** Runs `work` without the indexes of these tables. Creating the indexes at the end takes a fraction of the time. */
async function withoutIndexes(client: Client, tables: string[], work: () => Promise<void>): Promise<void> {
  const { rows } = await client.execute({
    sql: `SELECT name, sql FROM sqlite_schema
      WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (SELECT value FROM json_each(?))`,
    args: [JSON.stringify(tables)],
  })
  for (const { name } of rows) await client.execute(`DROP INDEX ${name}`)
  await work()
  for (const { sql } of rows) await client.execute(String(sql))
}

async function check(client: Client, expected: { agents: number; messages: number }): Promise<void> {
  for (const [table, count] of Object.entries({ ...expected, deliveries: expected.messages })) {
    const { rows: [{ n }] } = await client.execute(`SELECT count(*) AS n FROM ${table}`)
    if (n !== count) throw new Error(`The filled database has ${n} rows in ${table}, not ${count}`)
  }
  const { rows } = await client.execute('PRAGMA foreign_key_check')
  if (rows.length > 0) throw new Error(`The filled database has ${rows.length} dangling references`)
}

/**
 * Numbers are cast to integers, because the driver binds all numbers as reals. Otherwise, aliases would end in `.0`.
 */
const numbers =
  `WITH RECURSIVE numbers(n) AS (SELECT CAST(:first AS INTEGER) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :end)`

/** An id like a UUIDv7, in the order of `n`, because real ids are roughly ordered by time. */
function idOf(kind: 'agent' | 'message' | 'batch'): string {
  const digit = { agent: 1, message: 2, batch: 3 }[kind]
  return `printf('01000000-0000-7000-800${digit}-%012x', numbers.n)`
}

const timeOf = ':from + CAST((:until - :from) * (numbers.n * 1.0 / :messages) AS INTEGER)'

const insertAgents = `${numbers}
INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, description, created_at)
SELECT :account, ${idOf('agent')}, 'filler-' || n, 'mcp', 'private', 'auto_approve', 'Filler number ' || n, :from
FROM numbers`

const numberAgents = `
INSERT INTO agent_numbers (account_id, agent_id)
SELECT account_id, id FROM agents WHERE account_id = :account ON CONFLICT DO NOTHING`

const insertBenchAgents = `INSERT INTO bench_agents (n, id, alias)
SELECT row_number() OVER (ORDER BY alias) - 1, id, alias FROM agents`

/** Each agent sends to the next one. */
const insertMessages = `${numbers}
INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, flagged, created_at)
SELECT :account, ${idOf('message')}, sender.id, sender.alias, 'agent', '@' || recipient.alias,
  'Message number ' || numbers.n || ', one of those that were sent and read before the measurement.', 0, ${timeOf}
FROM numbers
JOIN bench_agents AS sender ON sender.n = numbers.n % :agents
JOIN bench_agents AS recipient ON recipient.n = (numbers.n + 1) % :agents
ORDER BY numbers.n`

const insertDeliveries = `${numbers}
INSERT INTO deliveries (seq, inbox, account_id, state, chars, created_at, read_at, lease_id)
SELECT messages.seq, number.n, :account, 'read', 85, ${timeOf}, ${timeOf}, ${idOf('batch')}
FROM numbers
JOIN messages ON messages.account_id = :account AND messages.id = ${idOf('message')}
JOIN bench_agents AS recipient ON recipient.n = (numbers.n + 1) % :agents
JOIN agent_numbers AS number ON number.account_id = :account AND number.agent_id = recipient.id
ORDER BY numbers.n`
