/** Waits and streams on each runtime, by the real clock and over real connections (mcp.md, 3.4; reliability 7.2, 7.3). */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { castBefore } from '../support/cast.ts'
import { readEvents } from '../support/events.ts'
import { wireRequest } from '../support/mcp.ts'
import {
  type Place,
  type Runtime,
  runtimes,
  type ServerProcess,
  startServe,
  temporaryPlace,
} from '../support/process.ts'
import { bearer, callTool } from './client.ts'

/** Above the 30 s after which Bun ends a silent connection. */
const longSeconds = 32

interface Scene {
  place: Place
  server: ServerProcess
  adminKey: string
  agents: { alias: string; key: string }[]
}
const scenes = new Map<Runtime, Promise<Scene>>()
afterAll(async () => {
  for (const scene of scenes.values()) {
    const { server, place } = await scene
    await server.stop()
    place.remove()
  }
})

/** Everybody waits for somebody else, so that the long waits of all runtimes take their time together. */
const aliases = ['alice', 'silent', 'long', 'woken', 'leaving', 'deleted', 'streams']

describe.each(runtimes)('on %s', { concurrent: true }, (runtime) => {
  test(
    'a wait of 20 s is one answer, and one of 32 s with heartbeats: both outlast the patience of the runtime',
    async () => {
      const { url, key } = await scene(runtime)
      const startedAt = performance.now()
      const silent = callTool(url, key('silent'), 'read_messages', { wait_seconds: 20 }).then((answer) => {
        return { answer, ms: performance.now() - startedAt }
      })
      const response = await ask(url, key('long'), { wait_seconds: longSeconds })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const frames = []
      const events = readEvents(response)
      for (let frame; (frame = await events.frame()) !== undefined;) frames.push(frame)
      const ms = performance.now() - startedAt
      const short = await silent

      expect(short.answer.messages).toEqual([])
      expect(short.ms).toBeGreaterThan(19_900)
      expect(ms).toBeGreaterThan(longSeconds * 1_000 - 100)
      expect(frames.slice(0, -1).filter((frame) => frame.startsWith(':')).length).toBeGreaterThanOrEqual(2)
      expect(messageOf(frames.at(-1)!).result.structuredContent.messages).toEqual([])
    },
    120_000,
  )

  test('waits of both kinds answer when mail comes, and before that nothing was handed out', async () => {
    const { url, key } = await scene(runtime)
    for (const [wait_seconds, text] of [[20, 'to a short wait'], [50, 'to a long wait']] as const) {
      const answer = ask(url, key('woken'), { wait_seconds })
      await sleep(500)
      await send(url, key('alice'), 'woken', text)
      const sentAt = performance.now()
      const response = await answer
      const body = wait_seconds === 20 ? await response.json() : messageOf(await readEvents(response).event())

      expect(body.result.structuredContent.messages).toMatchObject([{ message: text }])
      expect(performance.now() - sentAt).toBeLessThan(2_000)
    }
  }, 60_000)

  test('when the caller of a wait leaves, nothing is handed out', async () => {
    const { url, key } = await scene(runtime)
    for (const wait_seconds of [20, 50]) {
      const client = new AbortController()
      const answer = ask(url, key('leaving'), { wait_seconds }, client.signal).then((response) => response.text())
      await sleep(500)
      client.abort()
      await expect(answer).rejects.toThrow()
      await sleep(500)
      await send(url, key('alice'), 'leaving', `after ${wait_seconds}`)
      const { messages } = await callTool(url, key('leaving'), 'read_messages')

      expect(messages).toMatchObject([{ message: `after ${wait_seconds}` }])
      expect(messages[0].redelivered).toBeUndefined()
    }
  }, 60_000)

  test('a wait and a stream end at once when their agent is deleted', async () => {
    const { url, key, adminKey } = await scene(runtime)
    const wait = callTool(url, key('deleted'), 'read_messages', { wait_seconds: 20 })
    const stream = readEvents(await fetch(`${url}/api/agents/wake-stream`, { headers: bearer(key('deleted')) }))
    await stream.frame()
    await sleep(500)
    await callTool(url, adminKey, 'admin_delete_agent', { alias: 'deleted' })
    const deletedAt = performance.now()

    expect((await wait).error).toBeDefined()
    while (await stream.frame() !== undefined);
    expect(performance.now() - deletedAt).toBeLessThan(2_000)
  }, 60_000)

  test('a wake stream and both subscriptions to grid://inbox tell of mail, and show life meanwhile', async () => {
    const { url, key } = await scene(runtime)
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
    // The retry hint, the first sign of life, and the one 15 s later.
    for (const start of ['retry', ':', ':']) expect((await wake.frame())?.startsWith(start)).toBe(true)
    await send(url, key('alice'), 'streams', 'wake up')

    expect(await wake.event()).toBe('data: wake')
    for (const stream of [legacy, modern]) {
      expect(await stream.event()).toContain('"method":"notifications/resources/updated"')
    }
    await Promise.all([wake, legacy, modern].map((stream) => stream.close()))
    expect((await callTool(url, key('streams'), 'read_messages')).messages).toMatchObject([{ message: 'wake up' }])
  }, 60_000)
})

/** The server of a runtime, started by whichever test comes first. */
async function scene(runtime: Runtime) {
  const made = scenes.get(runtime) ?? start(runtime)
  scenes.set(runtime, made)
  const { server, adminKey, agents } = await made
  return { url: server.url, adminKey, key: (alias: string) => agents.find((agent) => agent.alias === `@${alias}`)!.key }
}

async function start(runtime: Runtime): Promise<Scene> {
  const place = temporaryPlace()
  const cast = await castBefore(place.url, aliases)
  return { place, server: await startServe(runtime, { DATABASE_URL: place.url }), ...cast }
}

function ask(url: string, key: string, args: object, signal?: AbortSignal): Promise<Response> {
  const { headers, body } = wireRequest('legacy', 'tools/call', { name: 'read_messages', arguments: args })
  return fetch(`${url}/mcp/v1/grid`, {
    method: 'POST',
    headers: { ...headers, ...bearer(key) },
    body: JSON.stringify(body),
    signal,
  })
}

async function send(url: string, key: string, to: string, message: string): Promise<void> {
  expect((await callTool(url, key, 'send_message', { to, message })).message_id).toBeDefined()
}

/** The message of an event. */
function messageOf(frame: string) {
  return JSON.parse(frame.split('\n').find((line) => line.startsWith('data: '))!.slice('data: '.length))
}
