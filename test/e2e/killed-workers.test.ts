/**
 * A worker that takes the next message with each answer is killed or disconnected at every step. See
 * docs/protocol/rest.md, "Inbox". The worker is a process that connects through a proxy, which detects the step.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { second } from '../../src/lib/time.ts'
import { LeaseRecovery } from '../../src/worker/leases.ts'
import { rows } from '../support/database.ts'
import { ack, lease, post } from '../support/inbox.ts'
import { isLong } from '../support/long.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

const worker = `const [url, key] = process.argv.slice(1)
const next = { limit: 1, seconds: 30, wait_seconds: 50 }
async function call(path, body, idempotencyKey) {
  const headers = { Authorization: 'Bearer ' + key, 'Content-Type': 'application/json' }
  if (idempotencyKey) headers['Idempotency-Key'] = idempotencyKey
  for (;;) {
    try {
      const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      if (response.status < 500) return await response.json()
    } catch {}
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
for (let held;;) {
  held ??= await call('/api/v1/inbox/leases', next)
  const [message] = held.messages ?? []
  const acks = { lease_id: held.lease_id }
  held = undefined
  if (!message) continue
  await call('/work', {})
  const { reply_to: to, message_id: reply_to_message_id } = message
  const answer = { to, reply_to_message_id, message: 're ' + message.message, acks, next }
  held = (await call('/api/v1/messages', answer, acks.lease_id)).next
}`

/** Steps of a call: before it reaches the grid, while it waits there, and before its response reaches the worker. */
const steps = [
  'leases asked',
  'leases waits',
  'leases answered',
  'work',
  'messages asked',
  'messages answered',
  'messages waits',
] as const
const faults = ['kill', 'cut'] as const
/** The long form has 200 kills and 200 disconnections. */
const rounds = isLong ? Math.ceil(200 / steps.length) : 1

let grid: LiveGrid
let proxy: Server
let running: ChildProcess | undefined
let armed: { step: string; fault: (typeof faults)[number] } | undefined
let clock: NodeJS.Timeout
/** The asking agent's key. Each round has a new asker, because a conversation with so many turns would be paused. */
let asker: string
/** The calls that the grid has received and not yet answered. */
const open = new Set<string>()

beforeEach(async () => {
  grid = await liveGrid()
  // Release expired leases by the grid's clock, as a server's worker does.
  const recovery = new LeaseRecovery(grid.store)
  clock = setInterval(() => {
    grid.clock.now += 2 * second
    void recovery.releaseExpired()
  }, 50)
  proxy = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const name = request.url!.split('/').at(-1)!
    if (name === 'work') return await reach('work') ? response.destroy() : response.end('{}')
    if (await reach(`${name} asked`)) return response.destroy()
    const ending = new AbortController()
    response.once('close', () => ending.abort())
    open.add(name)
    try {
      const { authorization, 'idempotency-key': key } = request.headers
      const headers = { 'Content-Type': 'application/json', Authorization: authorization! }
      const answer = await fetch(grid.url + request.url, {
        method: 'POST',
        headers: key === undefined ? headers : { ...headers, 'Idempotency-Key': String(key) },
        body,
        signal: ending.signal,
      })
      const text = await answer.text()
      if (await reach(`${name} answered`)) return response.destroy()
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(text)
    } catch {
      response.destroy()
    } finally {
      open.delete(name)
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
})

afterEach(async () => {
  clearInterval(clock)
  running?.kill('SIGKILL')
  proxy.closeAllConnections()
  await new Promise((resolve) => proxy.close(resolve))
  await grid.close()
})

test('each question is answered exactly once, at whatever step the worker is killed or disconnected', async () => {
  const faultsFound: string[] = []
  let hits = 0
  for (let round = 0; round < rounds; round++) {
    asker = (await grid.acme.agent(`asker-${round}`)).key
    for (const fault of faults) {
      for (const step of steps) {
        const [call, state] = step.split(' ')
        // Start a new worker, because a running one gets its lease from the call that sends its answer.
        if (call === 'leases') await kill()
        armed = state === 'waits' ? undefined : { step, fault }
        start()
        const ids: string[] = []
        if (state === 'waits') {
          if (call === 'messages') ids.push(await ask(`before, ${fault} at ${step}`))
          await waitFor(step, () => open.has(call))
          armed = { step, fault }
          await reach(step)
        }
        ids.push(await ask(`first, ${fault} at ${step}`), await ask(`second, ${fault} at ${step}`))
        const answers: string[] = []
        await waitFor(`answers after ${fault} at ${step}`, async () => {
          start()
          answers.push(...await newAnswers())
          return ids.every((id) => answers.includes(id)) && armed === undefined && await isAllDone()
        })
        answers.push(...await newAnswers())
        hits++
        if (answers.length !== ids.length) faultsFound.push(`${fault} at ${step}: ${answers.length} for ${ids.length}`)
      }
    }
  }

  expect(faultsFound).toEqual([])
  expect(hits).toBe(rounds * faults.length * steps.length)
}, 600_000)

/** Kills the worker, or closes its connection, if the test is armed for this step. */
async function reach(step: string): Promise<boolean> {
  if (armed?.step !== step) return false
  const { fault } = armed
  armed = undefined
  if (fault === 'kill') await kill()
  else if (step.endsWith('waits')) proxy.closeAllConnections()
  return true
}

function start(): void {
  if (running && running.exitCode === null && running.signalCode === null) return
  const { port } = proxy.address() as AddressInfo
  const words = ['--input-type=module', '-e', worker, `http://127.0.0.1:${port}`, grid.bob.key]
  running = spawn(process.execPath, words, { stdio: 'inherit' })
}

async function kill(): Promise<void> {
  if (!running || running.exitCode !== null || running.signalCode !== null) return
  const ended = new Promise((resolve) => running!.once('exit', resolve))
  running.kill('SIGKILL')
  await ended
}

/** Whether every question is acknowledged, so that no second answer can follow. */
async function isAllDone(): Promise<boolean> {
  const sql = `SELECT 1 FROM v_deliveries WHERE account_id = ? AND agent_id = ?
    AND (state <> 'read' OR lease_id IN (SELECT id FROM leases WHERE account_id = ?))`
  return (await rows(grid, sql, [grid.acme.id, grid.bob.id, grid.acme.id])).length === 0
}

async function ask(message: string): Promise<string> {
  return (await post(grid, asker, { to: '@bob', message })).body.message_id
}

/** Returns the ids of the questions to which the asker has received new answers. */
async function newAnswers(): Promise<string[]> {
  const { body } = await lease(grid, asker)
  if (body.lease_id === null) return []
  await ack(grid, asker, body.lease_id)
  return body.messages.map((message: { reply_to_message_id: string }) => message.reply_to_message_id)
}
