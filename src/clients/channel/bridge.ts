/**
 * Passes JSON-RPC messages of an MCP client on to the grid and back: standard input and output on one side, Streamable
 * HTTP on the other. It changes no message, so it needs no MCP library, which would add 1 MB to a client program of
 * 0.4 MB.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
import { minute } from '../../lib/time.ts'
import { pause, reconnectMs } from '../pause.ts'

export interface RpcMessage {
  jsonrpc: '2.0'
  id?: string | number | null
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

export interface BridgeOptions {
  endpoint: string
  key: string
  write(message: RpcMessage): void
  signal: AbortSignal
}

/** The key of a revision that has no `initialize`. */
const revisionKey = 'io.modelcontextprotocol/protocolVersion'
/** A stream that lived so long was not refused. */
const goodStreamMs = minute

export class Bridge {
  readonly #options: BridgeOptions
  /** Of a client that opened with `initialize`. */
  #revision: string | undefined
  #isListening = false
  readonly #calls = new Map<string | number, AbortController>()

  constructor(options: BridgeOptions) {
    this.#options = options
  }

  /** Pass on a message of the client. Resolves when its answer was written. Never rejects. */
  async pass(message: RpcMessage): Promise<void> {
    const { id, method, params } = message
    if (method === 'notifications/cancelled') this.#cancel(params?.requestId)
    const ending = new AbortController()
    const isRequest = id !== undefined && id !== null && method !== undefined
    if (isRequest) this.#calls.set(id, ending)
    try {
      const response = await this.#fetch('POST', {
        headers: headersOf(message),
        body: JSON.stringify(message),
        signal: AbortSignal.any([ending.signal, this.#options.signal]),
      })
      const isAnswered = await this.#writeAnswer(message, response)
      if (isRequest && !isAnswered) this.#fail(id, `The grid answered with status ${response.status}, and no result.`)
    } catch (error) {
      if (isRequest && !ending.signal.aborted && !this.#options.signal.aborted) this.#fail(id, reasonOf(error))
    } finally {
      if (isRequest) this.#calls.delete(id)
    }
    if (method === 'resources/subscribe') void this.#listen()
  }

  /** A cancelled request is not answered. Leaving is how the newest revision cancels. */
  #cancel(id: unknown): void {
    this.#calls.get(id as string)?.abort()
  }

  /** Write every message of a response. Resolves to whether the request was answered. */
  async #writeAnswer(request: RpcMessage, response: Response): Promise<boolean> {
    let isAnswered = false
    for await (const message of messagesOf(response)) {
      const answers = request.id !== undefined && message.method === undefined
      // Refusals before a request is read have no id.
      const own = answers && (message.id === null || message.id === undefined)
        ? { ...message, id: request.id }
        : message
      if (answers) isAnswered = true
      if (request.method === 'initialize' && typeof own.result?.protocolVersion === 'string') {
        this.#revision = own.result.protocolVersion
      }
      if (request.id !== undefined || message.method !== undefined) this.#options.write(own)
    }
    return isAnswered
  }

  async #listen(): Promise<void> {
    if (this.#isListening) return
    this.#isListening = true
    const { signal, write } = this.#options
    for (let failures = 0; !signal.aborted; failures++) {
      const openedAt = performance.now()
      try {
        const response = await this.#fetch('GET', { headers: { Accept: 'text/event-stream' }, signal })
        // The grid has no stream for this credential.
        if (response.status === 405 || response.status === 401) return
        if (response.ok) { for await (const message of messagesOf(response)) write(message) }
      } catch {
        // The grid restarts, or the network is gone.
      }
      if (performance.now() - openedAt > goodStreamMs) failures = 0
      await pause(reconnectMs(failures), signal)
    }
  }

  #fetch(method: string, { headers, ...init }: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const { endpoint, key } = this.#options
    return fetch(endpoint, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...(this.#revision !== undefined && { 'MCP-Protocol-Version': this.#revision }),
        ...headers,
      },
      redirect: 'error',
      ...init,
    })
  }

  #fail(id: string | number, message: string): void {
    this.#options.write({ jsonrpc: '2.0', id, error: { code: -32_000, message } })
  }
}

/** The headers that repeat what a message says. The newest revision wants them. */
function headersOf({ method, params }: RpcMessage): Record<string, string> {
  const revision = (params?._meta as Record<string, unknown> | undefined)?.[revisionKey]
  const name = params?.name ?? params?.uri
  return {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(typeof revision === 'string' && {
      'MCP-Protocol-Version': revision,
      ...(method !== undefined && { 'Mcp-Method': method }),
      ...(typeof name === 'string' && { 'Mcp-Name': name }),
    }),
  }
}

/** The messages in an answer: one JSON document, or the data of events. */
async function* messagesOf(response: Response): AsyncGenerator<RpcMessage> {
  if (!response.body) return
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    if (text !== '') yield JSON.parse(text)
    return
  }
  let rest = ''
  let data: string[] = []
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split(/\r?\n/)
    rest = lines.pop()!
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(5).trimStart())
      if (line !== '' || data.length === 0) continue
      yield JSON.parse(data.join('\n'))
      data = []
    }
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } }
  return `The grid could not be reached: ${cause?.message || cause?.code || message || error}`
}
