/** Four processes on one libsql-server, at least one of each runtime. See docs/delivery.md, "Several processes". */
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAdminKey, deleteAdminKey } from '../../src/grid/accounts/accounts.ts'
import { sendMessage } from '../support/messaging.ts'
import { readEvents } from '../support/events.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { runtimes, type ServerProcess, startServe } from '../support/process.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { settled, tool } from './chaos/outcome.ts'
import { bearer, callTool, firstCall, mcp, post } from './client.ts'

const signupPerHour = 5
// DRAIN_MESSAGES=10000 drains more; a test run takes fewer.
const drained = Number(process.env.DRAIN_MESSAGES ?? 1_000)

let sqld: Sqld
let grid: TestGrid
let processes: ServerProcess[]
beforeAll(async () => {
  sqld = await startSqld()
  grid = await testGrid({ url: sqld.url })
  const env = { DATABASE_URL: sqld.url, SIGNUP_PER_HOUR: `${signupPerHour}`, TRUSTED_PROXIES: '127.0.0.1' }
  processes = await Promise.all([...runtimes, 'bun' as const].map((runtime) => startServe(runtime, env)))
})
afterAll(async () => {
  await Promise.all(processes.map((server) => server.stop()))
  await grid.close()
  await sqld.stop()
})

test('an agent deleted at one process is refused at all others, and what waits there ends', async () => {
  const [here, there, elsewhere] = processes.map(({ url }) => url)
  const { key } = await grid.acme.agent('short-lived')
  const wait = mcp(there, key, 'tools/call', { name: 'read_messages', arguments: { wait_seconds: 20 } })
  await firstCall(here, grid.alice.key, 'short-lived')
  const stream = readEvents(await fetch(`${elsewhere}/api/agents/wake-stream`, { headers: bearer(key) }))
  await stream.frame()

  await callTool(here, grid.acme.adminKey, 'admin_delete_agent', { alias: 'short-lived' })
  const deletedAt = performance.now()
  const next = await Promise.all([there, elsewhere].map((base) => mcp(base, key, 'tools/list')))

  expect(next.map(({ status }) => status)).toEqual([401, 401])
  expect((await wait).body.result).toMatchObject({ isError: true })
  while (await stream.frame() !== undefined);
  // It takes 300 ms; the margin is for a loaded machine.
  expect(performance.now() - deletedAt).toBeLessThan(2_000)
})

test('an admin key deleted at one process is refused at all others', async () => {
  const { id, adminKey } = await createAdminKey(grid.acme.store, 'for this test')
  const list = () => Promise.all(processes.map(async ({ url }) => (await mcp(url, adminKey, 'tools/list')).status))
  expect(await list()).toEqual([200, 200, 200, 200])

  await deleteAdminKey(grid.acme.store, id)

  expect(await list()).toEqual([401, 401, 401, 401])
})

test('60 parallel sends of one trial agent over all processes: exactly 10 are stored', async () => {
  const [sender, reader] = [await signUp('trial-sender', '198.51.100.1'), await signUp('trial-reader', '198.51.100.1')]

  const answers = await Promise.all(Array.from(
    { length: 60 },
    (_, i) => send(at(i), sender, { to: 'trial-reader', message: `${i}`, idempotency_key: `${i}` }),
  ))

  const stored = answers.flatMap((answer) => 'done' in answer ? [answer.done] : [])
  const refused = answers.filter((answer) => 'refused' in answer && answer.refused.startsWith('trial_expired'))
  const { messages } = await callTool(at(0), reader, 'read_messages')
  expect([stored.length, refused.length]).toEqual([10, 50])
  expect(ids(messages).sort()).toEqual(ids(stored).sort())
})

test('the signup limit of an address is one for all processes', async () => {
  const statuses = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    for (;;) {
      const { status } = await trySignUp(at(i), `crowd-${i}`, '198.51.100.2')
      // 503: it lost to parallel signups several times.
      if (status !== 503) return status
    }
  }))

  expect(statuses.filter((status) => status === 201)).toHaveLength(signupPerHour)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - signupPerHour)
})

test('who waits at one process is woken by a send at another', async () => {
  const tookMs: number[] = []
  // On a busy machine it may take longer, so there are more tries.
  for (let i = 0; i < 5 || (i < 20 && Math.min(...tookMs) >= 300); i++) {
    const { alias, key } = await grid.acme.agent(`waiting-${i}`)
    const wait = callTool(at(i), key, 'read_messages', { wait_seconds: 10 })
    await firstCall(at(i + 1), grid.alice.key, alias)
    await callTool(at(i + 1), grid.alice.key, 'send_message', { to: alias, message: `${i}` })
    const sentAt = performance.now()

    expect((await wait).messages).toMatchObject([{ message: `${i}` }])
    tookMs.push(performance.now() - sentAt)
  }
  console.log(`Woken after ${tookMs.map(Math.round).join(', ')} ms`)
  expect(Math.min(...tookMs)).toBeLessThan(300)
  // No wait lasted to its end.
  expect(Math.max(...tookMs)).toBeLessThan(9_000)
})

test('an idempotency key repeated at other processes gets the same answer and stores once', async () => {
  const input = { to: 'bob', message: 'once', idempotency_key: randomUUID() }
  const parallel = await Promise.all(
    Array.from({ length: 40 }, (_, i) => send(at(i), grid.alice.key, input)),
  )
  const later = await Promise.all(processes.map(({ url }) => send(url, grid.alice.key, input)))

  expect([...new Set([...parallel, ...later].map((answer) => JSON.stringify(answer)))]).toHaveLength(1)
  expect((await callTool(at(0), grid.bob.key, 'read_messages')).messages).toMatchObject([{ message: 'once' }])
})

test(`4 processes drain ${drained} messages exactly once`, async () => {
  const sent = await fillInbox(drained)

  const startedAt = performance.now()
  const batches = await Promise.all(processes.map(async ({ url }) => {
    const read: string[][] = []
    for (;;) {
      const { messages } = await callTool(url, grid.bob.key, 'read_messages')
      if (messages.length === 0) return read
      read.push(ids(messages))
    }
  }))
  console.log(`${drained} messages drained in ${Math.round(performance.now() - startedAt)} ms`)

  expect(batches.flat(2).sort()).toEqual([...sent].sort())
  // Each process reads in the order of storing, which is the order of the ids.
  for (const read of batches) expect(read.flat()).toEqual(read.flat().sort())
})

/** Put messages of alice into the inbox of bob with SQL, which is quicker than sending. Their ids, in the order of storing. */
async function fillInbox(count: number): Promise<string[]> {
  const { id: agentId, alias } = grid.alice
  const alice = grid.store.account(grid.acme.id, { type: 'agent', agentId, alias, credentialId: 'test' })
  const { id } = await sendMessage(alice, { to: 'bob', text: 'one of many' })
  const copies = Array.from({ length: count - 1 }, (_, i) => `${id}-${String(i).padStart(6, '0')}`)
  const each = JSON.stringify(copies)
  await grid.store.write([{
    sql: `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, flagged, created_at)
      SELECT account_id, value, from_agent_id, from_alias, type, recipient, body, flagged, created_at
      FROM messages, (SELECT value FROM json_each(?)) WHERE id = ? AND account_id = ?`,
    args: [each, id, grid.acme.id],
  }, {
    sql: `INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, inbox)
      SELECT account_id, agent_id, sender_account_id, value, state, chars, created_at, inbox
      FROM deliveries, (SELECT value FROM json_each(?)) WHERE message_id = ? AND account_id = ? ORDER BY value`,
    args: [each, id, grid.acme.id],
  }])
  return [id, ...copies]
}

/** Send under an idempotency key, and repeat it while the outcome is unknown. */
function send(base: string, key: string, input: { to: string; message: string; idempotency_key: string }) {
  return settled(() => tool(base, key, 'send_message', input))
}

/** The processes in turn. */
function at(i: number): string {
  return processes[i % processes.length].url
}

async function signUp(alias: string, address: string): Promise<string> {
  const { status, body } = await trySignUp(at(0), alias, address)
  expect(status).toBe(201)
  return body.api_key
}

function trySignUp(base: string, alias: string, address: string) {
  const fields = { owner_email: `${address.replaceAll('.', '-')}@crowd.example`, alias }
  return post(base, '/api/v1/agentic-signup', fields, { 'X-Forwarded-For': address })
}

function ids(messages: { message_id: string }[]): string[] {
  return messages.map(({ message_id }) => message_id)
}
