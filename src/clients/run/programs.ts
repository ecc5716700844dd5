/** Runs coding clients without a person, and parses their output. */
import { randomUUID } from 'node:crypto'

export interface TurnOutput {
  text: string
  sessionId?: string
  usd?: number
  failure?: string
}

export interface Program {
  name: string
  /** The command line for one turn. The prompt is passed on standard input. */
  words(turn: { sessionId?: string; maxUsd?: number; extra: readonly string[] }): string[]
  /** Parses the output of a turn that exited with code 0. */
  read(stdout: string): TurnOutput
  isSessionGone(output: string): boolean
  tellsCost: boolean
}

/** @see https://code.claude.com/docs/en/headless */
const claude: Program = {
  name: 'claude',
  words: ({ sessionId, maxUsd, extra }) => [
    'claude',
    '-p',
    '--output-format',
    'json',
    ...(sessionId === undefined ? ['--session-id', randomUUID()] : ['--resume', sessionId]),
    ...(maxUsd === undefined ? [] : ['--max-budget-usd', String(maxUsd)]),
    ...extra,
  ],
  read(stdout) {
    const result = objectsIn(stdout).findLast(({ type }) => type === 'result')
    if (!result) return { text: '', failure: 'It printed no result.' }
    return {
      text: textOf(result.result),
      sessionId: idOf(result.session_id),
      usd: numberOf(result.total_cost_usd),
      ...(result.is_error === true && { failure: textOf(result.result) || `It ended with ${result.subtype}.` }),
    }
  },
  isSessionGone: (output) => /No conversation found with session ID/i.test(output),
  tellsCost: true,
}

/** @see https://developers.openai.com/codex/noninteractive */
const codex: Program = {
  name: 'codex',
  words: ({ sessionId, extra }) => [
    'codex',
    'exec',
    ...(sessionId === undefined ? [] : ['resume']),
    '--json',
    '--skip-git-repo-check',
    ...extra,
    ...(sessionId === undefined ? ['-'] : [sessionId, '-']),
  ],
  read(stdout) {
    const events = objectsIn(stdout)
    const items = events.filter(({ type }) => type === 'item.completed').map(({ item }) => objectOf(item))
    const failed = events.findLast(({ type }) => type === 'turn.failed')
    const isDone = events.some(({ type }) => type === 'turn.completed')
    return {
      text: textOf(items.findLast(({ type }) => type === 'agent_message')?.text),
      sessionId: idOf(events.find(({ type }) => type === 'thread.started')?.thread_id),
      ...(failed && { failure: textOf(objectOf(failed.error).message) || 'The turn failed.' }),
      ...(!failed && !isDone && { failure: 'It printed no end of the turn.' }),
    }
  },
  isSessionGone: (output) => /no rollout found|thread .{0,80}not found|session .{0,80}not found/i.test(output),
  tellsCost: false,
}

/** @see https://opencode.ai/docs/cli */
const opencode: Program = {
  name: 'opencode',
  words: ({ sessionId, extra }) => [
    'opencode',
    'run',
    '--format',
    'json',
    ...(sessionId === undefined ? [] : ['-s', sessionId]),
    ...extra,
  ],
  read(stdout) {
    const events = objectsIn(stdout)
    const parts = events.map(({ part }) => objectOf(part))
    const failed = events.findLast(({ type }) => type === 'error')
    const lastStart = parts.findLastIndex(({ type }) => type === 'step-start')
    const costs = parts.map(({ type, cost }) => type === 'step-finish' ? numberOf(cost) ?? 0 : 0)
    return {
      text: parts.slice(lastStart + 1).filter(({ type }) => type === 'text').map(({ text }) => textOf(text)).join('\n'),
      sessionId: idOf(events.find(({ sessionID }) => sessionID !== undefined)?.sessionID),
      usd: costs.reduce((sum, cost) => sum + cost, 0),
      ...(failed && { failure: textOf(objectOf(objectOf(failed.error).data).message) || 'The turn failed.' }),
      ...(!failed && lastStart < 0 && { failure: 'It printed no step of a turn.' }),
    }
  },
  isSessionGone: (output) => /session .{0,80}not found|NotFoundError/i.test(output),
  tellsCost: true,
}

export const programs = { claude, codex, opencode } as const

/** A command that is not a coding client. It has no sessions, and its complete output is the answer. */
export function commandProgram(words: readonly string[]): Program {
  return {
    name: 'command',
    words: () => [...words],
    read: (stdout) => ({ text: stdout }),
    isSessionGone: () => false,
    tellsCost: false,
  }
}

type Fields = Record<string, unknown>

function objectsIn(stdout: string): Fields[] {
  return stdout.split('\n').filter((line) => line.trimStart().startsWith('{')).flatMap((line) => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })
}

function objectOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? value as Fields : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
