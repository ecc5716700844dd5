/**
 * Four processes on one libsql-server, at least one of each runtime. See docs/operating/proxies.md, "Several
 * processes".
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEvents } from '../support/events.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { runtimes, type ServerProcess, startServe } from '../support/process.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { settled, tool } from './chaos/outcome.ts'
import { bearer, callTool, firstCall, mcp, post } from './client.ts'

const signupPerHour = 5

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

test('an agent deleted at one process is refused at all others, and its waiting calls at these processes end', async () => {
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
  // Usually the other processes need 300 ms. The margin is for a loaded machine.
  expect(performance.now() - deletedAt).toBeLessThan(2_000)
})

test("a trial agent's 60 parallel sends to all processes store exactly 10 messages", async () => {
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

test('the signup limit per address applies across all processes', async () => {
  const statuses = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    for (;;) {
      const { status } = await trySignUp(at(i), `crowd-${i}`, '198.51.100.2')
      // A signup gets 503 if it lost to parallel signups several times.
      if (status !== 503) return status
    }
  }))

  expect(statuses.filter((status) => status === 201)).toHaveLength(signupPerHour)
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - signupPerHour)
})

test('a send retried at other processes with the same idempotency key gets the same response, and only one message is stored', async () => {
  const input = { to: 'bob', message: 'once', idempotency_key: randomUUID() }
  const parallel = await Promise.all(
    Array.from({ length: 40 }, (_, i) => send(at(i), grid.alice.key, input)),
  )
  const later = await Promise.all(processes.map(({ url }) => send(url, grid.alice.key, input)))

  expect([...new Set([...parallel, ...later].map((answer) => JSON.stringify(answer)))]).toHaveLength(1)
  expect((await callTool(at(0), grid.bob.key, 'read_messages')).messages).toMatchObject([{ message: 'once' }])
})

/** Sends with an idempotency key, and retries the send while the outcome is unknown. */
function send(base: string, key: string, input: { to: string; message: string; idempotency_key: string }) {
  return settled(() => tool(base, key, 'send_message', input))
}

/** Returns the address of a process, cycling through all processes. */
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
