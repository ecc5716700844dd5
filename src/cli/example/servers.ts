/** The example grid's external servers: two remote agents, a judge and a webhook. Each has an outage. */
import { Buffer } from 'node:buffer'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import type { SafeStream } from '../../lib/outbound/safe-stream.ts'
import { newId } from '../../lib/id.ts'
import { hour, second } from '../../lib/time.ts'

/** When each server's outage begins, in ms before the end of the seed, by host. */
const outages: Record<string, number> = {
  'courier.example': 3.2 * hour,
  'prices.example': 3.2 * hour,
  'hooks.example': 2.4 * hour,
  'judge.example': 9 * hour,
}

/** Delay before an answer. */
const answerMs = 2 * second

/** Answers requests in this process, on the seed's clock. No request leaves the machine. */
export function serversUntil(end: number, clock: { now: number }): SafeStream {
  return (url, { body }) => {
    const { host, origin } = new URL(url)
    if (clock.now >= end - (outages[host] ?? Infinity)) {
      return Promise.reject(new RemoteError('not_connected', 'connect ECONNREFUSED'))
    }
    clock.now += answerMs
    const text = Buffer.from(body ?? '').toString()
    return Promise.resolve(Response.json(answer(host, origin, text)))
  }
}

function answer(host: string, origin: string, body: string): unknown {
  if (host === 'hooks.example') return {}
  if (host === 'judge.example') return { choices: [{ message: { content: '{"violation":false,"reason":""}' } }] }
  if (body === '') return cardOf(host, origin)
  const { id } = JSON.parse(body)
  const text = host === 'prices.example'
    ? '9,812 USD a tonne.'
    : body.includes('parcel')
    ? 'In the Leipzig depot. It arrives tomorrow before noon.'
    : 'Picked up, and credited.'
  const message = { messageId: newId(), role: 'ROLE_AGENT', parts: [{ text }] }
  return { jsonrpc: '2.0', id, result: { message } }
}

function cardOf(name: string, origin: string) {
  return {
    name,
    description: 'A server of the example grid',
    version: '1',
    supportedInterfaces: [{ url: `${origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}
