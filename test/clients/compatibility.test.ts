/**
 * The client program works with a grid of another version. It ignores unknown fields, and sends only fields that the
 * first release accepts. See docs/stability.md, "Client programs".
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { GridClient } from '../../src/clients/grid-client.ts'
import type { Interface } from '../support/breaking-changes.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

const first: Interface = JSON.parse(readFileSync('test/fixtures/released/1.0.0/interface.json', 'utf8'))

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

interface SentRequest {
  /** The method and the path, as in OpenAPI. */
  call: string
  /** The request's query and body, in the form of the first release's interface file. */
  input: Record<string, unknown>
}

/** Starts a grid whose responses have fields of a later version, and records its requests. */
async function laterGrid(grid: TestGrid): Promise<{ url: string; requests: SentRequest[] }> {
  const requests: SentRequest[] = []
  server = createServer(async (request, response) => {
    const body = await buffer(request)
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const headers = Object.fromEntries(
      Object.entries({ ...request.headers, host: 'localhost:8787' }).map(([n, v]) => [n, String(v)]),
    )
    const isJson = headers['content-type'] === 'application/json'
    const query = [...searchParams].map(([name, value]) => [`query ${name}`, Number.isNaN(+value) ? value : +value])
    const input = {
      ...Object.fromEntries(query),
      ...(body.length > 0 && { body: isJson ? JSON.parse(`${body}`) : headers['content-type'] }),
    }
    const call = `${request.method} ${pathname}`
    const known = Object.keys(first.inputs).find((name) =>
      new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]+')}$`).test(call)
    )
    requests.push({ call: known ?? call, input })
    const answer = await grid.request(request.url!, {
      method: request.method,
      headers,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    })
    const type = answer.headers.get('content-type') ?? ''
    response.writeHead(answer.status, { 'Content-Type': type })
    if (type.startsWith('text/event-stream')) {
      const { value } = await answer.body!.getReader().read()
      return response.end(value)
    }
    response.end(
      type.startsWith('application/json') ? JSON.stringify(withMore(await answer.json())) : await answer.text(),
    )
  })
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/** Returns a copy with an additional field in every object. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore)
  if (typeof value !== 'object' || value === null) return value
  return {
    later: { version: 2 },
    ...Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withMore(one)])),
  }
}

test('the client program accepts responses with later fields, and the first release accepts its requests', async () => {
  const grid = await testGrid()
  const { url, requests } = await laterGrid(grid)
  const [alice, bob] = [grid.alice, grid.bob].map(({ key }) => new GridClient({ url, key }))

  const { upload_id } = await alice.beginUpload({ bytes: 5, filename: 'a.txt', mediaType: 'text/plain' })
  expect(await alice.upload(upload_id, 0, new TextEncoder().encode('hello'))).toMatchObject({ offset: 5 })
  const sent = await alice.send({ to: '@bob', message: 'hi', parts: [{ upload_id }], expires_in_seconds: 60 }, 'k1')
  await alice.send({ to: '@bob', message: 'two', conversation_id: 'c1' }, 'k2')
  for await (const event of bob.wakeStream({ attended: 'laptop' })) {
    expect(event).toBe('unread')
    break
  }
  expect(await bob.peek()).toMatchObject({ agent: '@bob', unread: 2 })
  expect((await bob.peek({ summary: false, limit: 1 })).messages).toMatchObject([{ message: 'hi' }])
  const lease = await bob.lease({ limit: 1, seconds: 60 })
  expect(lease.messages).toMatchObject([{ message_id: sent.message_id }])
  await bob.extend(lease.lease_id!, 90)
  const answer = {
    to: '@alice',
    message: 'done',
    reply_to_message_id: sent.message_id,
    acks: { lease_id: lease.lease_id! },
  }
  const { next } = await bob.send({ ...answer, next: { limit: 5, seconds: 60 } }, 'k3')
  expect(next).toMatchObject({ messages: [{ message: 'two' }], remaining: 0 })
  const { lease_id } = next as { lease_id: string }
  expect(await bob.release(lease_id)).toMatchObject({ released: 1 })
  const again = await bob.lease()
  expect(await bob.ack(again.lease_id!)).toMatchObject({ acked: 1 })
  await bob.reserve({ names: ['src'], note: 'tests', expires_in_seconds: 60 })
  expect(await alice.reservations()).toMatchObject([{ name: 'src', agent: '@bob' }])
  expect(await bob.releaseNames({ names: ['src'] })).toMatchObject({ released: ['src'] })
  expect(await bob.me()).toMatchObject({ agent: '@bob', grid: { url: expect.any(String) } })
  await expect(bob.send({ to: '@nobody', message: 'x' }, 'k4')).rejects.toMatchObject({ code: 'recipient_not_found' })
  await bob.revokeKey()

  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const refused = requests.filter(({ call, input }) => {
    const { properties = {}, ...schema } = first.inputs[call] ?? { not: {} }
    // Path parameters and headers are not required, because `input` does not contain them.
    const required = schema.required?.filter((name) => !/^(path|header) /.test(name))
    const valid = ajv.validate({
      ...schema,
      properties,
      required,
      additionalProperties: false,
      components: { schemas: first.schemas },
    }, input)
    return !valid
  })
  expect(refused).toEqual([])
  expect(new Set(requests.map(({ call }) => call)).size).toBeGreaterThan(12)
})
