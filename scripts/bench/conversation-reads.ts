/**
 * Fills a database with conversations, places them, and measures what the pages of conversations read, and whole pages.
 * Prints the lines as JSON. Run by `conversations.ts` in a process of its own.
 */
import { createClient } from '@libsql/client'
import { createApp } from '../../src/app.ts'
import { createSessions } from '../../src/auth/session.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { servedOrigins } from '../../src/edge.ts'
import { createAccount, openAccount } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { findMessage, readChain, readThread, receiptsOf } from '../../src/grid/conversations/messages.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { followLog } from '../../src/worker/threads.ts'
import { percentile } from './numbers.ts'

/** A line of the table. `cpuUs`: of the process, with the thread of the database if it has one. */
export interface ReadLine {
  name: string
  p50Ms: number
  p95Ms: number
  cpuUs: number
}

const ownerEmail = 'bench@example.com'
const agentCount = 100
const channelCount = 10
/** How often each read is measured. */
const rounds = 100

/** The `n`-th message: one in eleven in one long thread, one in fifty to a channel, the others in 4,950 pairs. */
const numbers = `WITH RECURSIVE numbers(n) AS (
  SELECT CAST(:first AS INTEGER) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :end),
kinds AS (SELECT n, CASE WHEN n % 50 = 7 THEN 'post' WHEN n % 11 = 0 THEN 'long' ELSE 'pair' END AS kind FROM numbers),
talks AS (SELECT n, kind, iif(kind = 'long', n % 2, n * 7919 % :agents) AS sender,
  iif(kind = 'long', 1 - n % 2, (n * 7919 + 1 + n * 104729 % (:agents - 1)) % :agents) AS recipient FROM kinds)`
const idOf = (n: string) => `printf('01000000-0000-7000-8002-%012x', ${n})`
const insertMessages = `${numbers}
INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, channel_id, reply_to_message_id, body,
  created_at)
SELECT :account, ${idOf('talks.n')}, sender.id, sender.alias, 'agent',
  iif(kind = 'post', '#channel-' || talks.n % :channels, '@' || recipient.alias), iif(kind = 'post', channel.id, NULL),
  iif(talks.n % 4 = 0, NULL, ${idOf('talks.n - 1')}),
  'Message number ' || talks.n || '. ' || substr(:text, 1, talks.n % 2200), :from + talks.n * 1000
FROM talks
JOIN bench_agents AS sender ON sender.n = talks.sender
JOIN bench_agents AS recipient ON recipient.n = talks.recipient
JOIN bench_channels AS channel ON channel.n = talks.n % :channels
ORDER BY talks.n`
/** The newest tenth is unread; of a post, that of ten members. */
const insertDeliveries = `${numbers}
INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, read_at, inbox)
SELECT :account, recipient.id, :account, ${idOf('talks.n')}, iif(talks.n >= :messages * 0.9, 'unread', 'read'), 100,
  :from + talks.n * 1000, iif(talks.n >= :messages * 0.9, NULL, :from + talks.n * 1000), number.n
FROM talks
JOIN bench_agents AS recipient
  ON recipient.n = talks.recipient OR (kind = 'post' AND recipient.n BETWEEN 1 AND 9 AND recipient.n <> talks.recipient)
JOIN agent_numbers AS number ON number.account_id = :account AND number.agent_id = recipient.id
ORDER BY talks.n`

async function main(messages: number): Promise<ReadLine[]> {
  const config = readConfig({ LOG_LEVEL: 'warn', ...process.env })
  const system = { type: 'system', job: 'bench' } as const
  let store = await openStore(processDeps(config))
  const { id } = await createAccount(store, { name: 'Bench', ownerEmail }, system)
  await addAgents(await openAccount(store, id, system))
  await store.close()
  await fill(config.databaseUrl, id, messages)

  store = await openStore(processDeps(config))
  const account = await openAccount(store, id, system)
  const cpu = process.cpuUsage()
  await followLog(store)
  const followed = { name: 'place a message, in units of 500', p50Ms: 0, p95Ms: 0, cpuUs: cpuUsSince(cpu) / messages }
  const lines = [
    followed,
    ...await measureReads(account, messages),
    ...await measurePages(store, id, account, messages),
  ]
  await store.close()
  return lines
}

async function addAgents(account: AccountStore): Promise<void> {
  const members: string[] = []
  for (let n = 0; n < agentCount; n++) members.push((await createAgent(account, { alias: `agent-${n}` })).agent.alias)
  for (let n = 0; n < channelCount; n++) {
    await createChannel(account, { name: `channel-${n}`, members: members.slice(0, 20) })
  }
}

async function fill(url: string, account: string, messages: number): Promise<void> {
  const client = createClient({ url, concurrency: 1, intMode: 'number' })
  if (url.startsWith('file:')) await client.executeMultiple('PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY')
  const rank = 'row_number() OVER (ORDER BY created_at, id) - 1 AS n, id'
  await client.execute(`CREATE TABLE bench_agents AS SELECT ${rank}, alias FROM agents WHERE account_id = '${account}'`)
  await client.execute(`CREATE TABLE bench_channels AS SELECT ${rank} FROM channels WHERE account_id = '${account}'`)
  await client.execute('CREATE UNIQUE INDEX bench_agents_n ON bench_agents (n)')
  const text = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit. '.repeat(40)
  const shared = { account, agents: agentCount, from: Date.now() - messages * 1_000 }
  for (let first = 0; first < messages; first += 20_000) {
    const part = { ...shared, first, end: Math.min(messages, first + 20_000) }
    await client.batch([
      { sql: insertMessages, args: { ...part, text, channels: channelCount } },
      { sql: insertDeliveries, args: { ...part, messages } },
    ], 'write')
  }
  await client.executeMultiple('DROP TABLE bench_agents; DROP TABLE bench_channels')
  const { rows } = await client.execute('PRAGMA foreign_key_check')
  if (rows.length > 0) throw new Error(`The filled database has ${rows.length} dangling references`)
  client.close()
}

async function measureReads(account: AccountStore, messages: number): Promise<ReadLine[]> {
  const { threads } = await listThreads(account, {})
  const long = threads.reduce((longest, thread) => thread.messages > longest.messages ? thread : longest)
  const agentId = long.agents[0].id
  let round = 0
  const anywhere = () => 1 + (round++ * 7919 * 131) % messages
  const at = (seq: number) => Date.now() - (messages - seq) * 1_000
  const page = await readThread(account, long.id, { newest: true })
  if (page.messages.length !== Math.min(50, long.messages)) {
    throw new Error('A page has not as many messages as it should')
  }
  const reads: Record<string, () => Promise<unknown>> = {
    'newest threads': () => listThreads(account, {}),
    'threads of an agent': () => listThreads(account, { agentId }),
    'channels': () => listThreads(account, { channels: true }),
    'threads that wait': () => listThreads(account, { waiting: true }),
    'threads that wait for an agent': () => listThreads(account, { waiting: true, agentId }),
    [`newest page of ${long.messages}`]: () => readThread(account, long.id, { newest: true }),
    'a page around any message': () => readThread(account, long.id, { around: anywhere() }),
    'a page at any time': () => readThread(account, long.id, { at: at(anywhere()) }),
    'receipts of a page': () => receiptsOf(account, page.messages.map(({ seq }) => seq)),
    'a chain': async () => {
      const message = await findMessage(account, { seq: anywhere() })
      return await readChain(account, message!.rootSeq)
    },
  }
  const lines: ReadLine[] = []
  for (const [name, read] of Object.entries(reads)) lines.push(await measure(name, read))
  return lines
}

/** Whole pages for an owner: the session, what is read, and the HTML, but no socket. */
async function measurePages(store: Store, id: string, account: AccountStore, messages: number): Promise<ReadLine[]> {
  const app = createApp(store)
  const { config } = store.deps
  const user = (await store.global.users.byEmail(ownerEmail))!
  const sessions = createSessions(store, servedOrigins(config))
  const cookie = await sessions.begin(new Request(config.appUrl), user.id, '127.0.0.1', { hasSecondFactor: true })
  const headers = { Cookie: cookie.split(';')[0] }
  const { threads } = await listThreads(account, {})
  const long = threads.reduce((longest, thread) => thread.messages > longest.messages ? thread : longest)
  const open = async (path: string) => {
    const url = `${config.appUrl}/accounts/${id}${path}`
    const response = await app.request(url, { headers }, { remoteAddress: '127.0.0.1' })
    if (response.status !== 200) throw new Error(`${path} answers ${response.status}`)
    return await response.text()
  }
  let round = 0
  const anywhere = () => 1 + (round++ * 7919 * 131) % messages
  const pages: Record<string, () => Promise<unknown>> = {
    'whole page: conversations': () => open('/conversations'),
    'whole page: newest of the longest': () => open(`/conversations/${long.id}`),
    'whole page: around any message': () => open(`/conversations/${long.id}?m=${anywhere()}`),
    'whole page: Attention': () => open('/attention'),
    'whole page: Overview': () => open('/overview'),
    'whole page: Agents': () => open('/agents'),
    'whole page: Agent': () => open(`/agents/${long.agents[0].alias}`),
  }
  const lines: ReadLine[] = []
  for (const [name, page] of Object.entries(pages)) lines.push(await measure(name, page))
  return lines
}

async function measure(name: string, read: () => Promise<unknown>): Promise<ReadLine> {
  for (let n = 0; n < rounds / 10; n++) await read()
  const times: number[] = []
  const cpu = process.cpuUsage()
  for (let n = 0; n < rounds; n++) {
    const startedAt = performance.now()
    await read()
    times.push(performance.now() - startedAt)
  }
  times.sort((a, b) => a - b)
  return { name, p50Ms: percentile(times, 0.5), p95Ms: percentile(times, 0.95), cpuUs: cpuUsSince(cpu) / rounds }
}

function cpuUsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return user + system
}

console.log(JSON.stringify(await main(Number(process.argv[2]))))
