import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type RoundRobin, startRoundRobin } from '../../scripts/cluster/round-robin.ts'
import { readEvents } from '../support/events.ts'

/** The requests that each instance received, except readiness checks. */
let seen: { instance: number; path: string; forwardedFor: unknown }[]
let instances: Server[]
let respond: (instance: number, response: ServerResponse) => void
let proxy: RoundRobin
let url: string
beforeEach(async () => {
  seen = []
  respond = (instance, response) => response.end(String(instance))
  instances = [0, 1, 2].map((instance) =>
    createServer((request, response) => {
      if (request.url === '/readyz') return response.end()
      seen.push({ instance, path: request.url!, forwardedFor: request.headers['x-forwarded-for'] })
      respond(instance, response)
    })
  )
  for (const server of instances) await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  proxy = await startRoundRobin({ port: 0, instances: instances.map(portOf) })
  url = `http://127.0.0.1:${proxy.port}`
  expect(await proxy.check()).toBe(3)
})
afterEach(async () => {
  await proxy.stop()
  for (const server of instances) end(server)
})

test('requests go to the instances in turn, with the address of the client', async () => {
  for (let i = 0; i < 6; i++) await post(`/${i}`)

  expect(seen.map(({ instance }) => instance)).toEqual([0, 1, 2, 0, 1, 2])
  expect(new Set(seen.map(({ forwardedFor }) => forwardedFor))).toEqual(new Set(['127.0.0.1']))
})

test('if a connection is refused, the next instance gets the request with its body', async () => {
  end(instances[0])

  const answers = await Promise.all([post('/1'), post('/2'), post('/3')])

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(new Set(seen.map(({ path }) => path)).size).toBe(3)
  expect(proxy.isReady(portOf(instances[1]))).toBe(true)
})

test('a request that was sent is never sent again: 502', async () => {
  respond = (_, response) => response.socket!.destroy()

  const { status, headers } = await post('/once')

  expect([status, headers.get('retry-after')]).toEqual([502, '1'])
  expect(seen).toHaveLength(1)
})

test('without a ready instance the response is 503', async () => {
  instances.forEach(end)

  expect((await post('/nowhere')).status).toBe(503)
})

test('an event stream is forwarded as it arrives, and closed on both sides', async () => {
  const ended: Promise<void>[] = []
  let stream: ServerResponse
  respond = (_, response) => {
    ended.push(new Promise((resolve) => response.once('close', () => resolve())))
    stream = response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    stream.flushHeaders()
  }
  const events = readEvents(await fetch(`${url}/stream`))
  stream!.write('data: one\n\n')

  expect(await events.event()).toBe('data: one')
  await events.close()
  await ended[0]
  const lost = readEvents(await fetch(`${url}/stream`))
  stream!.destroy()
  await expect(lost.frame()).rejects.toThrow()
})

function post(path: string): Promise<Response> {
  return fetch(url + path, { method: 'POST', body: 'hello' })
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function end(server: Server): void {
  server.close()
  server.closeAllConnections()
}
