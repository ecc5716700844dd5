/** The calls of an MCP client, as bytes made beforehand, and what their answers must be. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchAgent } from './agents.ts'
import { type Answer, type Connection, post } from './connection.ts'
import type { Step } from './load.ts'

export interface Call {
  name: string
  arguments: Record<string, unknown>
}

export type Era = '2025-11-25' | '2026-07-28'

export const gridPath = '/mcp/v1/grid'

/** A request of an MCP client. */
export function rpc(
  port: number,
  at: string,
  key: string,
  method: string,
  call?: Call,
  era: Era = '2026-07-28',
): Buffer {
  const isModern = era === '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  }
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...call, ...(isModern && { _meta: meta }) } }
  return post(port, at, body, {
    Authorization: `Bearer ${key}`,
    'MCP-Protocol-Version': era,
    ...(isModern && { 'Mcp-Method': method }),
    ...(isModern && call && { 'Mcp-Name': call.name }),
  })
}

export function callTool(port: number, agent: BenchAgent, name: string, args: Record<string, unknown> = {}): Buffer {
  return rpc(port, gridPath, agent.key, 'tools/call', { name, arguments: args })
}

/** `to` is an alias with `@` or a channel with `#`. */
export function sending(port: number, from: BenchAgent, to: string): Buffer {
  return callTool(port, from, 'send_message', { to, message: 'What is 6 times 7?' })
}

export function reading(port: number, reader: BenchAgent, args: Record<string, unknown> = {}): Buffer {
  return callTool(port, reader, 'read_messages', args)
}

/** The answer, if it is a good one that holds `text`; throws otherwise. */
export async function ask(connection: Connection, request: Buffer, text = ''): Promise<Answer> {
  const answer = await connection.send(request)
  return good(answer, text)
}

/** Throws what went wrong instead. */
export function good(answer: Answer, text = ''): Answer {
  const { status, body } = answer
  const isResult = status === 200 && !body.includes('"isError":true') && !body.includes('"error":')
  if (isResult && body.includes(text)) return answer
  const wanted = isResult ? `, without ${text}` : ''
  throw new Error(`The server answered ${status}${wanted}: ${body.slice(0, 500)}`)
}

/** Whether the grid did nothing because it is busy, and says that the call may be repeated. */
export function isBusy({ body }: Answer): boolean {
  return body.includes('"isError":true') && body.includes('The grid is busy')
}

/** `ask` of what is not measured: whom the grid refuses because it is busy asks again, as it is told. */
export async function askPatiently(connection: Connection, request: Buffer, text?: string): Promise<Answer> {
  for (let refused = 0;; refused++) {
    const answer = await connection.send(request)
    if (!isBusy(answer) || refused === mostRefusals) return good(answer, text)
    await sleep(againMs)
  }
}

/** The same request again and again. */
export function step(connection: Connection, request: Buffer, text?: string): Step {
  return async () => {
    await ask(connection, request, text)
  }
}

/** The ids of the messages in an answer, in their order. */
export function messageIds({ body }: Answer): string[] {
  // The text part says all again, with its quotes escaped.
  return [...body.matchAll(/[{,]"message_id":"([^"]+)"/g)].map(([, id]) => id)
}

/** Throws unless the answer to a read holds this one message. */
export function holdsOnly(answer: Answer, id: string): void {
  const ids = messageIds(good(answer))
  if (ids.length !== 1 || ids[0] !== id) throw new Error(`Read [${ids.join(', ')}] where ${id} was sent`)
}

/** Send, and answer the id of the message. `by` is `askPatiently` where it is not measured. */
export async function send(connection: Connection, request: Buffer, by = ask): Promise<string> {
  const [id] = messageIds(await by(connection, request, '"message_id"'))
  return id
}

/** Read mailboxes until they are empty. Answers how many messages each held. */
export async function drain(port: number, agents: BenchAgent[], connect: () => Connection): Promise<number[]> {
  const counts = agents.map(() => 0)
  const waiting = agents.map((agent, i) => ({ request: reading(port, agent), i }))
  await Promise.all(
    Array.from({ length: Math.min(drainConnections, agents.length) }, connect).map(async (connection) => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        for (let more = true; more;) {
          const count = messageIds(await askPatiently(connection, next.request)).length
          counts[next.i] += count
          more = count > 0
        }
      }
    }),
  )
  return counts
}

const drainConnections = 32

/** After how long who was refused asks again. */
export const againMs = 250
/** How often in a row, before it is a failure. */
export const mostRefusals = 100
