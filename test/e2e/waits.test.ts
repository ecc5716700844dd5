/**
 * Waits and streams on each runtime, with the real clock and real connections. See docs/protocol/mcp.md, "Waiting and
 * event streams", docs/conversations.md, "Waiting", and docs/operating/install.md, "Runtimes".
 */
import { afterAll, describe, expect, test } from 'vitest'
import { GridClient } from '../../src/clients/grid-client.ts'
import { readEvents } from '../support/events.ts'
import { isLong } from '../support/long.ts'
import { wireRequest } from '../support/mcp.ts'
import {
  type Runtime,
  runtimes,
  type ServerProcess,
  startServe,
  type TemporaryDatabase,
  temporaryDatabase,
} from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { bearer, callTool, firstCall, toolOutput } from './client.ts'

/** A wait longer than the 30 s after which Bun closes a silent connection. */
const longSeconds = 32

interface RunningServer {
  database: TemporaryDatabase
  server: ServerProcess
  adminKey: string
  agents: { alias: string; key: string }[]
}
const servers = new Map<Runtime, Promise<RunningServer>>()
afterAll(async () => {
  for (const started of servers.values()) {
    const { server, database } = await started
    await server.stop()
    database.remove()
  }
})

/** Each test has its own agent, so that the tests and their long waits run in parallel. */
const aliases = ['alice', 'silent', 'long', 'lease', 'woken-20', 'woken-50', 'streams']

describe.each(runtimes)('waiting calls on %s', { concurrent: true }, (runtime) => {
  test.runIf(isLong)(
    "waits of 20 s and 32 s and a wait for a lease outlast the runtime's timeouts, and the 32 s wait sends heartbeats",
    async () => {
      const { url, key } = await serverOn(runtime)
      const startedAt = performance.now()
      const silent = callTool(url, key('silent'), 'read_messages', { wait_seconds: 20 }).then((answer) => {
        return { answer, ms: performance.now() - startedAt }
      })
      const lease = new GridClient({ url, key: key('lease') }).lease({ wait_seconds: 50 })
      const response = await startRead(url, key('long'), { wait_seconds: longSeconds })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const frames = []
      const events = readEvents(response)
      for (let frame; (frame = await events.frame()) !== undefined;) frames.push(frame)
      const ms = performance.now() - startedAt
      const short = await silent
      const leased = await lease

      expect(short.answer.messages).toEqual([])
      expect(short.ms).toBeGreaterThan(19_900)
      expect(ms).toBeGreaterThan(longSeconds * 1_000 - 100)
      expect(frames.slice(0, -1).filter((frame) => frame.startsWith(':')).length).toBeGreaterThanOrEqual(2)
      expect(toolOutput(messageOf(frames.at(-1)!).result).messages).toEqual([])
      expect(leased).toMatchObject({ lease_id: null, messages: [] })
    },
    120_000,
  )

  test('short and long waits return when a message arrives', async () => {
    const { url, key } = await serverOn(runtime)
    for (const [wait_seconds, text] of [[20, 'to a short wait'], [50, 'to a long wait']] as const) {
      const alias = `woken-${wait_seconds}`
      const answer = startRead(url, key(alias), { wait_seconds })
      await firstCall(url, key('alice'), alias)
      await send(url, key('alice'), alias, text)
      const sentAt = performance.now()
      const response = await answer
      const body = wait_seconds === 20 ? await response.json() : messageOf(await readEvents(response).event())

      expect(toolOutput(body.result).messages).toMatchObject([{ message: text }])
      expect(performance.now() - sentAt).toBeLessThan(2_000)
    }
  }, 60_000)

  test('no message is leased to a waiting caller that has disconnected', async () => {
    const { url, key, adminKey } = await serverOn(runtime)
    let agents = 0
    const starts = {
      short: (key: string, signal: AbortSignal) => startRead(url, key, { wait_seconds: 20 }, signal),
      long: (key: string, signal: AbortSignal) => startRead(url, key, { wait_seconds: 50 }, signal),
      lease: (key: string, signal: AbortSignal) => startLease(url, key, { wait_seconds: 50 }, signal),
    }
    for (const start of Object.values(starts)) {
      // A server notices only after a moment that a client has disconnected. Until then, it may lease messages to the
      // client, and then releases them.
      await waitFor('a message that was never leased to a caller that left', async () => {
        const alias = `leaving-${agents++}`
        const { api_key } = await callTool(url, adminKey, 'admin_create_agent', { alias })
        const client = new AbortController()
        const answer = start(api_key, client.signal).then((response) => response.text())
        await firstCall(url, key('alice'), alias)
        client.abort()
        await expect(answer).rejects.toThrow()
        await send(url, key('alice'), alias, 'after')
        const { messages } = await callTool(url, api_key, 'read_messages')
        return messages.length === 1 && messages[0].redelivered === undefined
      })
    }
  }, 120_000)

  test(
    'a wake stream and both kinds of subscription to grid://inbox signal a message',
    async () => {
      const { url, key } = await serverOn(runtime)
      const listen = wireRequest('modern', 'subscriptions/listen', {
        notifications: { resourceSubscriptions: ['grid://inbox'] },
      })
      const wake = readEvents(await fetch(`${url}/api/agents/wake-stream`, { headers: bearer(key('streams')) }))
      const legacy = readEvents(
        await fetch(`${url}/mcp/v1/grid`, { headers: { Accept: 'text/event-stream', ...bearer(key('streams')) } }),
      )
      const modern = readEvents(
        await fetch(`${url}/mcp/v1/grid`, {
          method: 'POST',
          headers: { ...listen.headers, ...bearer(key('streams')) },
          body: JSON.stringify(listen.body),
        }),
      )
      expect(await modern.event()).toContain('notifications/subscriptions/acknowledged')
      // The frames are the retry hint, the first heartbeat, and in the long form the next heartbeat 15 s later.
      for (const start of ['retry', ':', ...(isLong ? [':'] : [])]) {
        expect((await wake.frame())?.startsWith(start)).toBe(true)
      }
      await send(url, key('alice'), 'streams', 'wake up')

      expect(await wake.event()).toBe('data: wake')
      for (const stream of [legacy, modern]) {
        expect(await stream.event()).toContain('"method":"notifications/resources/updated"')
      }
      await Promise.all([wake, legacy, modern].map((stream) => stream.close()))
      expect((await callTool(url, key('streams'), 'read_messages')).messages).toMatchObject([{ message: 'wake up' }])
    },
    60_000,
  )
})

/** A runtime's server, started by the first test that needs it. */
async function serverOn(runtime: Runtime) {
  const started = servers.get(runtime) ?? start(runtime)
  servers.set(runtime, started)
  const { server, adminKey, agents } = await started
  return { url: server.url, adminKey, key: (alias: string) => agents.find((agent) => agent.alias === `@${alias}`)!.key }
}

async function start(runtime: Runtime): Promise<RunningServer> {
  const database = temporaryDatabase()
  const cast = await seedAgents(database.url, aliases)
  return { database, server: await startServe(runtime, { DATABASE_URL: database.url }), ...cast }
}

function startRead(url: string, key: string, args: object, signal?: AbortSignal): Promise<Response> {
  const { headers, body } = wireRequest('legacy', 'tools/call', { name: 'read_messages', arguments: args })
  return fetch(`${url}/mcp/v1/grid`, {
    method: 'POST',
    headers: { ...headers, ...bearer(key) },
    body: JSON.stringify(body),
    signal,
  })
}

function startLease(url: string, key: string, body: object, signal: AbortSignal): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', ...bearer(key) }
  return fetch(`${url}/api/v1/inbox/leases`, { method: 'POST', headers, body: JSON.stringify(body), signal })
}

async function send(url: string, key: string, to: string, message: string): Promise<void> {
  expect((await callTool(url, key, 'send_message', { to, message })).message_id).toBeDefined()
}

/** Returns an event's JSON-RPC message. */
function messageOf(frame: string) {
  return JSON.parse(frame.split('\n').find((line) => line.startsWith('data: '))!.slice('data: '.length))
}
