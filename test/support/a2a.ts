/** An A2A client with requests and responses in wire format. */
import type { GridMessage } from '../../src/grid/messaging/inbox-message.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { readEvents } from './events.ts'
import { storeOf, type TestAgent, type TestGrid } from './grid.ts'

export const endpoint = '/a2a/v1/grid'

/** A response of the JSON-RPC endpoint. */
export interface A2aResponse {
  status: number
  headers: Headers
  // deno-lint-ignore no-explicit-any -- tests check it
  body: any
}

/**
 * POSTs a body, given as text or as JSON, with an agent's key. Returns the error event of a 0.3 stream as a plain
 * response.
 */
export async function postA2a(
  grid: TestGrid,
  key: string | undefined,
  body: unknown,
  headers: Record<string, string> = {},
  path = endpoint,
): Promise<A2aResponse> {
  const credential: Record<string, string> = key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const response = await grid.post(path, body, { ...credential, ...headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: JSON.parse(text.replace(/^data: /, '')) }
}

/** Builds a `message/send` (0.3). The given message fields override the defaults. */
export function send03(message: Record<string, unknown> = {}, params: Record<string, unknown> = {}) {
  return request('message/send', {
    message: {
      kind: 'message',
      messageId: 'message-1',
      role: 'user',
      parts: [{ kind: 'text', text: 'hi' }],
      metadata: { to: '@bob' },
      ...message,
    },
    ...params,
  })
}

/** Builds a `SendMessage` (1.0). The given message fields override the defaults. */
export function send10(message: Record<string, unknown> = {}, params: Record<string, unknown> = {}) {
  return request('SendMessage', {
    message: {
      messageId: 'message-1',
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }],
      metadata: { to: '@bob' },
      ...message,
    },
    ...params,
  })
}

export function request(method: unknown, params?: unknown, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

/** Returns the `google.rpc.ErrorInfo` that an error contains. */
export function errorInfo(reason: string, domain: string, metadata?: Record<string, string>) {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain, metadata }
}

/** Reads an agent's unread messages, which leases them. */
export async function inboxOf(grid: TestGrid, agent: TestAgent): Promise<GridMessage[]> {
  return (await readMessages(storeOf(grid, agent), {})).messages
}

/** Returns the path of an agent's own endpoint. */
export function endpointOf({ alias }: TestAgent): string {
  return `/a2a/v1/agents/${alias}`
}

/** A stream item of either binding: a comment, or an event with its number and the result from its data. */
export interface StreamedEvent {
  id?: number
  comment?: string
  // deno-lint-ignore no-explicit-any -- tests check it
  result?: any
}

/** A stream that a test reads event by event. */
export interface OpenStream {
  response: Response
  /** Returns the next event, without comments; undefined at the end. */
  next(): Promise<StreamedEvent | undefined>
  /** Returns the next event or comment. */
  nextItem(): Promise<StreamedEvent | undefined>
  /** Returns all remaining events, without comments. */
  rest(): Promise<StreamedEvent[]>
  close(): Promise<void>
}

/** Reads a response's server-sent events. */
export function readStream(response: Response): OpenStream {
  const { frame, close } = readEvents(response)
  const nextItem = async () => {
    const found = await frame()
    return found === undefined ? undefined : eventOf(found)
  }
  const next = async () => {
    for (;;) {
      const item = await nextItem()
      if (item === undefined || item.comment === undefined) return item
    }
  }
  return {
    response,
    nextItem,
    next,
    async rest() {
      const events = []
      for (let event = await next(); event; event = await next()) events.push(event)
      return events
    },
    close,
  }
}

/** POSTs a request and opens the stream in the response. Fails if the response is not a stream. */
export async function openA2aStream(
  grid: { request(path: string, init: RequestInit): Promise<Response> },
  key: string,
  body: unknown,
  { path = endpoint, headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<OpenStream> {
  const response = await grid.request(path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(`No stream but ${response.status}: ${await response.text()}`)
  }
  return readStream(response)
}

function eventOf(frame: string): StreamedEvent {
  if (frame.startsWith(':')) return { comment: frame.slice(1).trim() }
  const fields = new Map(
    frame.split('\n').map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
  const data = JSON.parse(fields.get('data')!)
  const id = fields.has('id') ? Number(fields.get('id')) : undefined
  return { id, result: data.jsonrpc === undefined ? data : data.result }
}
