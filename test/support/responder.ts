/**
 * A recipient for the official A2A test suites: an ordinary MCP client of the grid that reads its inbox and answers
 * with `update_task`. Each message contains an instruction to its recipient. TCK puts it at the beginning of
 * `messageId`, ACTS at the beginning of the text.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { setTimeout as sleep } from 'node:timers/promises'
import { gridPath, toolResult } from './mcp.ts'

/** An `update_task` call without the task, the text of a reply, or a delay in milliseconds. */
type Step = Record<string, unknown> | { reply: string } | { ms: number }

export interface Responder {
  /** Failures, except updates of tasks that have already ended. */
  faults: unknown[]
  stop(): Promise<void>
}

export interface ResponderOptions {
  /** The grid's URL. */
  url: string
  /** The answering agent's key. */
  key: string
  /** Duration of a long task, in ms. */
  longMs?: number
  /** Duration of a task that a suite subscribes to, in ms: at least twice the suite's time limit for streams. */
  resubscribeMs?: number
  /** Whether to answer with a question if no suite defines the message, so that its task stays open for a while. */
  asksBack?: boolean
  /** Called immediately for each fault. */
  onFault?(error: unknown): void
}

/** The responder's actions: `steps` for a task's first message, and `next` for later messages in the task. */
interface Behaviour {
  steps: Step[]
  next?(text: string): Step[]
}

const text = (content: string): Step => ({ text: content })
const file = { filename: 'output.txt', mediaType: 'text/plain' }
const rawFile = { raw: btoa('Generated file content'), ...file }
const completed: Step = { state: 'completed' }
const echo = (said: string): Step[] => [text(`You said: ${said}`)]
const question: Step = { state: 'input-required', text: 'What else do you need?' }

function streamed(parts: Record<string, unknown>[]): Step[] {
  return [{ state: 'working' }, ...chunks(...parts.map((part) => [part])), completed]
}

/** Returns the steps that send one artifact, with one chunk per list of parts. */
function chunks(...lists: Record<string, unknown>[][]): Step[] {
  return lists.map((parts, n) => ({
    parts,
    artifact: { id: 'output', append: n > 0, last_chunk: n === lists.length - 1 },
  }))
}

function behaviours({ longMs = 5_000, resubscribeMs = 30_000 }: ResponderOptions): Record<string, Behaviour> {
  const multiTurn: Behaviour = {
    steps: [question],
    next: (said) => said.trim() === 'done' ? [text('All done')] : [question],
  }
  return {
    'tck-complete-task': { steps: [text('Hello from TCK')] },
    'tck-artifact-text': { steps: [text('Generated text content')] },
    'tck-artifact-file': { steps: [{ parts: [rawFile] }] },
    'tck-artifact-file-url': { steps: [{ parts: [{ url: 'https://example.com/output.txt', ...file }] }] },
    'tck-artifact-data': { steps: [{ parts: [{ data: { key: 'value', count: 42 } }] }] },
    'tck-message-response': { steps: [{ reply: 'Direct message response' }] },
    'tck-input-required': { steps: [question], next: () => [text('Thank you')] },
    'tck-reject-task': { steps: [{ state: 'rejected', text: 'Rejected, as asked' }] },
    'tck-stream-001': { steps: streamed([{ text: 'Stream hello from TCK' }]) },
    'tck-stream-002': { steps: [completed] },
    'tck-stream-003': { steps: streamed([{ text: 'Stream task lifecycle' }]) },
    'tck-stream-ordering-001': { steps: streamed([{ text: 'Ordered output' }]) },
    'tck-stream-artifact-text': { steps: streamed([{ text: 'Streamed text content' }]) },
    'tck-stream-artifact-file': { steps: streamed([rawFile]) },
    'tck-stream-artifact-chunked': { steps: streamed([{ text: 'chunk-1 ' }, { text: 'chunk-2' }]) },
    'test-resubscribe-message-id': { steps: [{ state: 'working' }, { ms: resubscribeMs }, text('Worked for long')] },
    'tck-long-running': { steps: [{ state: 'working' }, { ms: longMs }, text('Worked for long')] },
    'tck-multi-turn': multiTurn,
    'tck-cancel': { steps: [{ state: 'working' }] },
    'tck-task-failure': { steps: [{ state: 'failed', text: 'Failed, as asked' }] },
    'tck-auth-required': { steps: [{ state: 'auth-required', text: 'Sign in first' }] },
    'tck-stream-basic': { steps: streamed([{ text: 'Streamed content' }]) },
    'tck-stream-chunked': { steps: streamed([{ text: 'one ' }, { text: 'two ' }, { text: 'three' }]) },
  }
}

/** The message fields that the responder reads. */
interface TaskMessage {
  message_id: string
  message: string
  reply_to: string
  task_id?: string
  a2a?: { messageId?: string }
}

/** Connects as an agent. Answers every message that belongs to a task, until `stop`. */
export async function startResponder(options: ResponderOptions): Promise<Responder> {
  const client = new Client({ name: 'responder', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const requestInit = { headers: { Authorization: `Bearer ${options.key}` } }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(gridPath, options.url), { requestInit }),
  )

  const known = behaviours(options)
  // Longest first, because `tck-artifact-file-url` must be found before `tck-artifact-file`.
  const beginnings = Object.keys(known).sort((a, b) => b.length - a.length)
  const open = new Map<string, Behaviour>()
  const faults: unknown[] = []
  const stopping = new AbortController()
  const working = new Set<Promise<void>>()

  async function call(name: string, args: Record<string, unknown>) {
    return toolResult(await client.callTool({ name, arguments: args }, { signal: stopping.signal }), name)
  }

  function stepsFor({ task_id, message, a2a }: TaskMessage): Step[] {
    const begins = (said = '') => beginnings.find((beginning) => said.startsWith(beginning))
    const named = begins(a2a?.messageId)
    const next = named === undefined ? open.get(task_id!)?.next : undefined
    if (next) return next(message)
    const beginning = named ?? begins(message)
    if (beginning === undefined && !options.asksBack) return echo(message)
    const behaviour = beginning === undefined
      ? { steps: [{ state: 'working' }, question], next: echo }
      : known[beginning]
    open.set(task_id!, behaviour)
    return behaviour.steps
  }

  async function answer(message: TaskMessage): Promise<void> {
    for (const step of stepsFor(message)) {
      if ('ms' in step) await sleep(Number(step.ms), undefined, { signal: stopping.signal })
      else {
        const { code, message: fault } = 'reply' in step
          ? await call('send_message', {
            to: message.reply_to,
            message: step.reply,
            reply_to_message_id: message.message_id,
          })
          : await call('update_task', { task_id: message.task_id, ...step })
        // The client has canceled the task.
        if (code === 'unsupported_operation') return
        if (code !== undefined) throw new Error(`${code} ${fault}`)
      }
    }
  }

  async function readOn(): Promise<void> {
    while (!stopping.signal.aborted) {
      const messages = await read().catch(async (error) => {
        note(error)
        await sleep(500, undefined, { signal: stopping.signal }).catch(() => {})
        return []
      })
      for (const message of messages.filter(({ task_id }) => task_id !== undefined)) {
        const work = answer(message).catch(note).finally(() => working.delete(work))
        working.add(work)
      }
    }
  }

  async function read(): Promise<TaskMessage[]> {
    const { text: messages, code, message } = await call('read_messages', { wait_seconds: 20 })
    if (code !== undefined) throw new Error(`${code} ${message}`)
    return messages as TaskMessage[]
  }

  function note(error: unknown): void {
    if (stopping.signal.aborted) return
    faults.push(error)
    options.onFault?.(error)
  }

  const reading = readOn()
  return {
    faults,
    async stop() {
      stopping.abort()
      await reading
      await Promise.all(working)
      await client.close()
    },
  }
}
