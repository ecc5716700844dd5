import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import { createSafeStream } from '../../../src/lib/outbound/safe-stream.ts'
import { createLog } from '../../../src/log.ts'
import { waitFor } from '../../support/wait-for.ts'

const closers: (() => void)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

async function serving(answer: (response: ServerResponse, method: string) => void) {
  const ended: boolean[] = []
  const server = createServer((request, response) => {
    request.socket.once('close', () => ended.push(true))
    answer(response, request.method!)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => server.closeAllConnections(), () => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const logs: string[] = []
  const config = readConfig({ ALLOW_PRIVATE_TARGETS: '1' })
  const log = createLog('debug', (line) => logs.push(line))
  const stream = createSafeStream({ config, log, ownPorts: new Set() })
  return { url, stream, ended, logs }
}

test('the chunks of a response are streamed as they arrive, with any method', async () => {
  let goOn: () => void
  const { url, stream } = await serving((response, method) => {
    response.write(method)
    goOn = () => response.end('!')
  })

  const response = await stream(url, { method: 'DELETE', timeoutMs: 10_000 })
  const reader = response.body!.getReader()
  const first = await reader.read()
  goOn!()
  const second = await reader.read()

  expect([first.value, second.value].map((bytes) => new TextDecoder().decode(bytes))).toEqual(['DELETE', '!'])
  expect((await reader.read()).done).toBe(true)
})

test.each([
  ['before the first byte', () => {}],
  ['between two bytes', (response: ServerResponse) => void response.write('x')],
])('a streamed request fails after too long a pause %s', async (_, answer) => {
  const { url, stream, logs } = await serving(answer)

  const reading = stream(url, { method: 'GET', timeoutMs: 60_000, idleMs: 50 }).then((response) => response.text())

  await expect(reading).rejects.toMatchObject({ reason: 'timeout' })
  expect(logs.filter((line) => line.includes('outbound request failed'))).toHaveLength(1)
})

test('an endless response is cut off at its limit', async () => {
  const { url, stream } = await serving((response) => {
    const more = () => response.write('x'.repeat(10_000), more)
    more()
  })

  const response = await stream(url, { method: 'GET', timeoutMs: 60_000, maxBytes: 100_000 })

  await expect(response.arrayBuffer()).rejects.toMatchObject({ reason: 'too_large' })
})

test('the connection of a streamed response is closed when the reader leaves', async () => {
  const { url, stream, ended } = await serving((response) => void response.write('x'))
  const response = await stream(url, { method: 'GET', timeoutMs: 60_000 })

  await response.body!.cancel()

  await waitFor('the end of the connection', () => ended.length === 1)
})
