/** An MCP server over standard input and output that is the grid, and that can wake a session of Claude Code. */
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { wakeWords } from '../hook/words.ts'
import { newMessages, type WaiterOptions } from '../hook/waiter.ts'
import { logLine } from '../log.ts'
import type { GridAgent } from '../state/paths.ts'
import { Bridge, type RpcMessage } from './bridge.ts'

export interface ChannelOptions {
  agent: GridAgent
  key: string
  input: Readable
  output: Writable
  /** Wake the session over `claude/channel`; undefined for a plain bridge. */
  wake?: Omit<WaiterOptions, 'signal'>
  /** Ends it, as the end of the input does. */
  signal: AbortSignal
}

/** Declares that the server pushes events into the session. @see https://code.claude.com/docs/en/channels-reference */
const capability = 'claude/channel'
const instructions = 'Events of this server tell of unread messages. Read them with read_messages, once for each event.'

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
    // The revision that it agrees on is a header of what follows.
    if (message.method === 'initialize') await passed
  }
  ending.abort()
  await Promise.all([...passing, waking])
}

/** Tell the session of new messages, unless its hooks do. */
async function wakeSession(options: WaiterOptions, write: (message: RpcMessage) => void): Promise<void> {
  try {
    for await (const messages of newMessages(options)) {
      const content = wakeWords('claude', options.agent.alias, messages)
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

/** Answers that list the capabilities of the server, with ours. */
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
