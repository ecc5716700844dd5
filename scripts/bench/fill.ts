/**
 * A grid that has been in use for long, written straight into its tables: a million sends would take minutes.
 * A column that these rows would have to fill, or one that is gone, fails the insert; a reference into nothing
 * fails the check at the end.
 */
import type { Client, InStatement } from '@libsql/client'

/** Rows of one statement: some tenths of a second. */
const chunk = 20_000

/**
 * Bring the account to `agents` agents, and give them `messages` messages that were sent and read yesterday and
 * before: the same number for each, one after the other.
 */
export async function fill(
  client: Client,
  account: string,
  { agents, messages, isLocal }: { agents: number; messages: number; isLocal: boolean },
): Promise<void> {
  // Nobody else has this file yet, and nothing in it is worth an fsync. The service sets its own mode.
  if (isLocal) await client.executeMultiple('PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY')
  const { rows: [{ n: living }] } = await client.execute('SELECT count(*) AS n FROM agents')
  const day = 24 * 3_600_000
  const from = Date.now() - 30 * day
  const until = Date.now() - day

  await inChunks(
    client,
    Number(living),
    agents,
    (first, end) => [{ sql: insertAgents, args: { account, from, first, end } }],
  )
  await client.execute('CREATE TABLE bench_places (n INTEGER PRIMARY KEY, id TEXT NOT NULL, alias TEXT NOT NULL)')
  await client.execute(insertPlaces)
  await inChunks(client, 0, messages, (first, end) => {
    const args = { account, from, until, first, end, messages, agents }
    return [{ sql: insertMessages, args }, { sql: insertDeliveries, args }]
  })
  await client.execute('DROP TABLE bench_places')
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

async function check(client: Client, wanted: { agents: number; messages: number }): Promise<void> {
  for (const [table, count] of Object.entries({ ...wanted, deliveries: wanted.messages })) {
    const { rows: [{ n }] } = await client.execute(`SELECT count(*) AS n FROM ${table}`)
    if (n !== count) throw new Error(`The filled database has ${n} rows in ${table}, not ${count}`)
  }
  const { rows } = await client.execute('PRAGMA foreign_key_check')
  if (rows.length > 0) throw new Error(`The filled database has ${rows.length} references into nothing`)
}

/** Given as an integer: the driver binds all numbers as reals, and an alias would end in `.0`. */
const numbers =
  `WITH RECURSIVE numbers(n) AS (SELECT CAST(:first AS INTEGER) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :end)`

/** Like a UUIDv7: in the order of `n`, as the ids of real sends are nearly in the order of time. */
function idOf(kind: 'agent' | 'message' | 'batch'): string {
  const digit = { agent: 1, message: 2, batch: 3 }[kind]
  return `printf('01000000-0000-7000-800${digit}-%012x', numbers.n)`
}

const timeOf = ':from + CAST((:until - :from) * (numbers.n * 1.0 / :messages) AS INTEGER)'

const insertAgents = `${numbers}
INSERT INTO agents (account_id, id, alias, type, visibility, access_policy, description, created_at)
SELECT :account, ${idOf('agent')}, 'filler-' || n, 'mcp', 'private', 'auto_approve', 'Filler number ' || n, :from
FROM numbers`

const insertPlaces = `INSERT INTO bench_places (n, id, alias)
SELECT row_number() OVER (ORDER BY alias) - 1, id, alias FROM agents`

/** From the agent at each place to the next one. */
const insertMessages = `${numbers}
INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, flagged, created_at)
SELECT :account, ${idOf('message')}, sender.id, sender.alias, 'agent', '@' || recipient.alias,
  'Message number ' || numbers.n || ' of those that were sent and read before the measuring began.', 0, ${timeOf}
FROM numbers
JOIN bench_places AS sender ON sender.n = numbers.n % :agents
JOIN bench_places AS recipient ON recipient.n = (numbers.n + 1) % :agents
ORDER BY numbers.n`

const insertDeliveries = `${numbers}
INSERT INTO deliveries
  (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, read_at, batch_id)
SELECT :account, recipient.id, :account, ${idOf('message')}, 'read', 85, ${timeOf}, ${timeOf}, ${idOf('batch')}
FROM numbers
JOIN bench_places AS recipient ON recipient.n = (numbers.n + 1) % :agents
ORDER BY numbers.n`
