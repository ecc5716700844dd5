/** An MCP client's requests, as bytes prepared in advance, and checks of the responses. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchAgent } from './agents.ts'
import { type Connection, post, type RawResponse } from './connection.ts'
import type { Step } from './load.ts'
import { nextText } from './words.ts'

export interface ToolCall {
  name: string
  arguments: Record<string, unknown>
}

const era = '2026-07-28'

export const gridPath = '/mcp/v1/grid'

/** Builds a request of an MCP client. */
export function rpc(port: number, path: string, key: string, method: string, call?: ToolCall): Buffer {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': era,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  }
  return post(port, path, { jsonrpc: '2.0', id: 1, method, params: { ...call, _meta: meta } }, {
    Authorization: `Bearer ${key}`,
    'MCP-Protocol-Version': era,
    'Mcp-Method': method,
    ...(call && { 'Mcp-Name': call.name }),
  })
}

export function toolCallRequest(
  port: number,
  agent: BenchAgent,
  name: string,
  args: Record<string, unknown> = {},
): Buffer {
  return rpc(port, gridPath, agent.key, 'tools/call', { name, arguments: args })
}

/** Builds a request that sends a message. `to` is an alias with `@`, or a channel with `#`. */
export function sendMessageRequest(port: number, from: BenchAgent, to: string, message = nextText()): Buffer {
  return toolCallRequest(port, from, 'send_message', { to, message })
}

/** Returns a function that returns sends with `differentTexts` different texts in rotation, each with `args`. */
export function sendMessageRequests(port: number, from: BenchAgent, to: string, args: object = {}): () => Buffer {
  const requests = Array.from(
    { length: differentTexts },
    () => toolCallRequest(port, from, 'send_message', { to, message: nextText(), ...args }),
  )
  let next = 0
  return () => requests[next++ % differentTexts]
}

const differentTexts = 64

export function readMessagesRequest(port: number, reader: BenchAgent, args: Record<string, unknown> = {}): Buffer {
  return toolCallRequest(port, reader, 'read_messages', args)
}

/** Sends a request. Throws if the response is an error or lacks `text`. */
export async function call(connection: Connection, request: Buffer, text = ''): Promise<RawResponse> {
  return checkResponse(await connection.send(request), text)
}

/** Returns the response. Throws if it is an error or lacks `text`. */
function checkResponse(response: RawResponse, text = ''): RawResponse {
  const { status, body } = response
  const isResult = status === 200 && !body.includes('"isError":true') && !body.includes('"error":')
  if (isResult && body.includes(text)) return response
  const missing = isResult ? `, without ${text}` : ''
  throw new Error(`The server responded ${status}${missing}: ${body.slice(0, 500)}`)
}

/** Whether the grid refused the call because it is busy. Such a call can be retried. */
function isBusy({ body }: RawResponse): boolean {
  return body.includes('"isError":true') && body.includes('The grid is busy')
}

/** Like `call`, but retries calls that a busy grid refuses. Only for calls that are not measured. */
export async function callWithRetries(connection: Connection, request: Buffer, text?: string): Promise<RawResponse> {
  for (let refused = 0;; refused++) {
    const response = await connection.send(request)
    if (!isBusy(response) || refused === maxRefusals) return checkResponse(response, text)
    await sleep(retryDelayMs)
  }
}

/** A step that sends the same request each time. */
export function step(connection: Connection, request: Buffer, text?: string): Step {
  return async () => {
    await call(connection, request, text)
  }
}

/** The ids of the messages in a response, in order. */
function messageIds({ body }: RawResponse): string[] {
  // The ids are in JSON inside a JSON string, so their quotes are escaped.
  return [...body.matchAll(/[{,]\\"message_id\\":\\"([^"\\]+)/g)].map(([, id]) => id)
}

/** Throws unless a read's response contains exactly this message. */
export function checkHoldsOnly(response: RawResponse, id: string): void {
  const ids = messageIds(checkResponse(response))
  if (ids.length !== 1 || ids[0] !== id) throw new Error(`Read [${ids.join(', ')}] instead of ${id}`)
}

/** Sends a message with `by`, which is `callWithRetries` for unmeasured sends. Resolves to the message's id. */
export async function sendMessage(connection: Connection, request: Buffer, by = call): Promise<string> {
  const [id] = messageIds(await by(connection, request, 'message_id'))
  return id
}

/**
 * Reads inboxes until they are empty. Resolves to the number of messages read from each inbox. Calls `connect` at most
 * `drainConnections` times.
 */
export async function drainInboxes(port: number, agents: BenchAgent[], connect: () => Connection): Promise<number[]> {
  const counts = agents.map(() => 0)
  const waiting = agents.map((agent, i) => ({ request: readMessagesRequest(port, agent), i }))
  await Promise.all(
    Array.from({ length: Math.min(drainConnections, agents.length) }, connect).map(async (connection) => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        for (let more = true; more;) {
          const count = messageIds(await callWithRetries(connection, next.request)).length
          counts[next.i] += count
          more = count > 0
        }
      }
    }),
  )
  return counts
}

export const drainConnections = 32

/** Delay before a refused call is retried. */
const retryDelayMs = 250
/** Number of consecutive refusals that count as a failure. */
const maxRefusals = 100
