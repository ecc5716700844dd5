/** What a client tells a hook, by its command line and as JSON on standard input, and how it reads the answer. */
import process from 'node:process'
import type { Wake } from '../connections.ts'
import { type ClientName, clientNames, programs } from '../programs.ts'
import type { GridAgent } from '../state/paths.ts'

const hookEvents = ['start', 'prompt', 'tool', 'stop', 'end', 'wait'] as const
type HookEvent = typeof hookEvents[number]

export interface HookConnection extends GridAgent {
  key: string
  wake: Wake
}

export interface HookWords {
  client: ClientName
  event: HookEvent
  as?: string
  url?: string
}

/** What the JSON of the clients has in common. Clients call the fields as they like. */
export interface HookInput {
  /** The id of the session or thread; empty if the client gives none. */
  session: string
  eventName?: string
  /** Where the client keeps the session. */
  transcript?: string
  cwd?: string
  /** Why a session starts or ends, such as `clear`. */
  reason?: string
  /** The client was kept from stopping before, by any hook. */
  isStopActive: boolean
}

/** Undefined if the words do not call a hook. */
export function parseHookWords(words: readonly string[]): HookWords | undefined {
  const options: Record<string, string> = {}
  const names: string[] = []
  for (let i = 0; i < words.length; i++) {
    const [, name, value] = words[i].match(/^--(as|url)(?:=(.*))?$/s) ?? []
    if (name !== undefined) options[name] = value ?? words[++i]
    else names.push(words[i])
  }
  const client = clientNames.find((client) => client === names[0] && programs[client].hooks)
  const event = hookEvents.find((event) => event === names[1])
  return client && event && names.length === 2 ? { client, event, ...options } : undefined
}

export interface HookAnswer {
  stdout?: string
  stderr?: string
  /** 2 wakes a client, or blocks it; every other end is 0. */
  exitCode: 0 | 2
}

export const silence: HookAnswer = { exitCode: 0 }

/** Give the model `text` together with what it is asked now. */
export function contextAnswer(client: ClientName, event: HookEvent, input: HookInput, text: string): HookAnswer {
  const { events, context = (_, usual) => usual } = programs[client].hooks!
  // Most clients say in their JSON how they call the event.
  const hookEventName = input.eventName ?? Object.keys(events).find((name) => events[name].includes(event))
  const usual = { hookSpecificOutput: { ...(hookEventName && { hookEventName }), additionalContext: text } }
  return { stdout: JSON.stringify(context(text, usual)), exitCode: 0 }
}

/** Let the client go on for one more turn, with `text` as the reason. */
export function stopAnswer(text: string): HookAnswer {
  return { stdout: JSON.stringify({ decision: 'block', reason: text }), exitCode: 0 }
}

/** Parse what a client wrote. Anything but a JSON object counts as an empty one. */
export function parseHookInput(text: string): HookInput {
  const given = objectOf(text)
  const word = (...names: string[]) => {
    const found = names.map((name) => given[name]).find((value) => typeof value === 'string' && value !== '')
    return found as string | undefined
  }
  return {
    session: word('session_id', 'sessionId', 'conversation_id', 'thread_id') ?? '',
    eventName: word('hook_event_name', 'hookEventName'),
    transcript: word('transcript_path', 'transcriptPath'),
    cwd: word('cwd'),
    reason: word('source', 'reason', 'trigger'),
    isStopActive: given.stop_hook_active === true,
  }
}

/** Standard input to its end, but for at most `timeoutMs` and a megabyte. */
export async function readStandardInput(timeoutMs: number): Promise<string> {
  if (process.stdin.isTTY) return ''
  let text = ''
  const stopped = new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref())
  const ended = new Promise<void>((resolve) => {
    process.stdin.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
      if (text.length > 1_000_000) resolve()
    }).on('end', resolve).on('error', resolve)
  })
  await Promise.race([stopped, ended])
  process.stdin.pause()
  return text
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}
