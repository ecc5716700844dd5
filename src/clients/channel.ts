/** An MCP server over standard input and output that proxies the grid. It can also wake a Claude Code session. */
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { minute } from '../lib/time.ts'
import { pause, reconnectMs } from './grid-call.ts'
import { wakeWords } from './hook/call.ts'
import { newMessages, type WaiterOptions } from './hook/waiter.ts'
import { type GridAgent, logLine } from './state/paths.ts'

interface ChannelOptions {
  agent: GridAgent
  key: string
  input: Readable
  output: Writable
  /** How to wake the session over `claude/channel`; undefined if the bridge does not wake it. */
  wake?: Omit<WaiterOptions, 'signal'>
  /** Stops the bridge. The end of standard input stops it too. */
  signal: AbortSignal
}

/** The capability of a server that pushes events. @see https://code.claude.com/docs/en/channels-reference */
const capability = 'claude/channel'
const instructions = 'Events of this server announce unread messages. Call read_messages once for each event.'

export async function serveChannel({ agent, key, input, output, wake, signal }: ChannelOptions): Promise<void> {
  const ending = new AbortController()
  const ended = AbortSignal.any([signal, ending.signal])
  const write = (message: RpcMessage) => output.write(`${JSON.stringify(wake ? declared(message) : message)}\n`)
  const bridge = new Bridge({ endpoint: `${agent.url.replace(/\/$/, '')}/mcp/v1/grid`, key, write, signal: ended })
  let waking: Promise<void> | undefined
  const lines = createInterface({ input, crlfDelay: Infinity })
  ended.addEventListener('abort', () => lines.close(), { once: true })
  const passing = new Set<Promise<void>>()
  for await (const line of lines) {
    if (line.trim() === '') continue
    const message = messageIn(line)
    if (!message) {
      write({ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'This line is not a JSON-RPC message.' } })
      continue
    }
    if (message.method === 'notifications/initialized' && wake) {
      waking ??= wakeSession({ ...wake, signal: ended }, write)
    }
    const passed = bridge.pass(message).finally(() => passing.delete(passed))
    passing.add(passed)
    // Waits for the response to `initialize`, because later requests repeat the negotiated revision in a header.
    if (message.method === 'initialize') await passed
  }
  ending.abort()
  await Promise.all([...passing, waking])
}

/** Notifies the session of new messages, unless the session's hooks do so. */
async function wakeSession(options: WaiterOptions, write: (message: RpcMessage) => void): Promise<void> {
  try {
    for await (const messages of newMessages(options)) {
      const content = wakeWords({ client: 'claude' }, options.agent.alias, messages)
      write({
        jsonrpc: '2.0',
        method: `notifications/${capability}`,
        params: { content, meta: { unread: String(messages.length) } },
      })
    }
  } catch (error) {
    logLine(options.agent, `channel: ${(error as Error).message}`)
  }
}

/** Adds the bridge's own capabilities to a response that lists the server's capabilities. */
function declared(message: RpcMessage): RpcMessage {
  const { result } = message
  const capabilities = result?.capabilities as Record<string, Record<string, unknown>> | undefined
  if (!capabilities) return message
  return {
    ...message,
    result: {
      ...result,
      capabilities: { ...capabilities, experimental: { ...capabilities.experimental, [capability]: {} } },
      instructions: [result!.instructions, instructions].filter(Boolean).join('\n'),
    },
  }
}

function messageIn(line: string): RpcMessage | undefined {
  try {
    const message = JSON.parse(line)
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined
  } catch {
    return undefined
  }
}

interface RpcMessage {
  jsonrpc: '2.0'
  id?: string | number | null
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

interface BridgeOptions {
  endpoint: string
  key: string
  write(message: RpcMessage): void
  signal: AbortSignal
}

/** The `_meta` key that holds the protocol revision of clients that do not send `initialize`. */
const revisionKey = 'io.modelcontextprotocol/protocolVersion'
/** A stream that stayed open this long resets the reconnect delay. */
const goodStreamMs = minute

class Bridge {
  readonly #options: BridgeOptions
  /** The negotiated revision, for a client that began with `initialize`. */
  #revision: string | undefined
  #isListening = false
  readonly #calls = new Map<string | number, AbortController>()

  constructor(options: BridgeOptions) {
    this.#options = options
  }

  /** Forwards a message from the client. Resolves when the response is written. Never rejects. */
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

  /** Aborts a cancelled request, which gets no response. In the newest revision, disconnecting cancels a request. */
  #cancel(id: unknown): void {
    this.#calls.get(id as string)?.abort()
  }

  /** Writes every message of a response. Resolves to whether the request was answered. */
  async #writeAnswer(request: RpcMessage, response: Response): Promise<boolean> {
    let isAnswered = false
    for await (const message of messagesOf(response)) {
      const answers = request.id !== undefined && message.method === undefined
      // The response to a request that was refused before it was parsed has no id, so it gets the request's id here.
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
        // The grid is restarting, or the network is unavailable.
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

/** The headers that repeat a message's fields, as the newest revision requires. */
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

/** The messages of a response, which is one JSON document or an event stream. */
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
