/** The open sessions of coding clients with a person present, as reported by their hooks. */
import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { hour, minute, second } from '../../lib/time.ts'
import { isAlive, type ProcessMark, withLock } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'

/** How long concurrent hooks of one event wait for each other. */
const waitMs = 500

/** A client process. Its file stays when its session id changes, for example after `/clear`. */
export interface Session extends ProcessMark {
  client: string
  /** The id of the session or thread that the client currently shows. */
  id: string
  /** When the session opened, in ms since 1970. */
  since: number
  /** Whether the session has a waiter, so that new messages can wake it. */
  wakes: boolean
  /** Whether the model is working, as far as the hooks report. */
  busy: boolean
  /** When a hook last recorded the session, in ms since 1970. */
  at: number
}

/**
 * Records the current state of a process. Fields missing in `news` are unchanged; an unknown process counts as just
 * opened. Resolves to the stored state.
 */
export async function saveSession(
  agent: GridAgent,
  news: Pick<Session, 'client' | 'pid' | 'start'> & Partial<Session>,
): Promise<Session> {
  const path = fileOf(agent, news)
  const save = () => {
    const now = Date.now()
    const before = findSession(agent, news) ?? { id: '', since: now, wakes: false, busy: false }
    const session = { ...before, at: now, ...news }
    writeJson(path, session)
    return session
  }
  return await withLock(join(stateFolder(agent), 'sessions.lock'), waitMs, save) ?? save()
}

export function findSession(agent: GridAgent, session: Pick<Session, 'client' | 'pid' | 'start'>): Session | undefined {
  const found = readSession(fileOf(agent, session))
  return found?.start === session.start ? found : undefined
}

export function endSession(agent: GridAgent, session: Pick<Session, 'client' | 'pid'>): void {
  forget(fileOf(agent, session))
}

/** The sessions whose process is running, newest last. Files of ended processes are removed. */
export function liveSessions(agent: GridAgent): Session[] {
  const folder = folderOf(agent)
  const live: Session[] = []
  for (const name of namesIn(folder)) {
    const session = readSession(join(folder, name))
    if (session && isAlive(session)) live.push(session)
    else if (session) forget(join(folder, name))
  }
  return live.sort((a, b) => a.since - b.since)
}

function folderOf(agent: GridAgent): string {
  return join(stateFolder(agent), 'sessions')
}

function fileOf(agent: GridAgent, { client, pid }: Pick<Session, 'client' | 'pid'>): string {
  return join(folderOf(agent), `${client}-${pid}.json`)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
}

function readSession(path: string): Session | undefined {
  const session = readJson(path) as Session | undefined
  return typeof session?.pid === 'number' && typeof session.start === 'string' ? session : undefined
}

function forget(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Another hook has removed the file.
  }
}

interface Notified {
  id: string
  /** When the last notice was sent, in ms since 1970. */
  at: number
  times: number
  session: string
}

/** The session to notify, and which announced messages to repeat. */
interface NotifyOptions {
  session: string
  /** Whether the session is starting. It is then also notified of messages announced only to other sessions. */
  isStart?: boolean
  /** Repeats the notice of messages that were announced once, at least this many ms ago. */
  againAfterMs?: number
}

/** Maximum number of remembered messages. With a larger inbox, old messages may be announced again. */
const keptIds = 200

/**
 * The unread messages that a session must be notified of. They are recorded as announced, so that only one of several
 * concurrent processes announces a message.
 */
export async function claimUnnotified<M extends { message_id: string }>(
  agent: GridAgent,
  messages: readonly M[],
  options: NotifyOptions,
): Promise<M[]> {
  if (messages.length === 0) return []
  const path = join(stateFolder(agent), 'told.json')
  const claimed = await withLock(`${path}.lock`, waitMs, () => {
    const now = Date.now()
    const known = new Map(readNotified(path).map((notified) => [notified.id, notified]))
    const unnotified = messages.filter(({ message_id }) => isUnnotified(known.get(message_id), options, now))
    for (const { message_id: id } of unnotified) {
      const times = (known.get(id)?.times ?? 0) + 1
      // The entry moves to the end, because the list is truncated at its beginning.
      known.delete(id)
      known.set(id, { id, at: now, times, session: options.session })
    }
    if (unnotified.length > 0) writeJson(path, [...known.values()].slice(-keptIds))
    return unnotified
  })
  return claimed ?? []
}

function isUnnotified(
  notified: Notified | undefined,
  { session, isStart, againAfterMs }: NotifyOptions,
  now: number,
): boolean {
  if (!notified || isStart && notified.session !== session) return true
  return againAfterMs !== undefined && notified.times < 2 && now - notified.at >= againAfterMs
}

function readNotified(path: string): Notified[] {
  const notified = readJson(path)
  return Array.isArray(notified) ? notified.filter((entry) => typeof entry?.id === 'string') : []
}

/** Minimum interval between inbox checks, shared by all hooks of one agent. */
const peekEveryMs = 15 * second

/** Whether a hook may check the inbox now. If so, records the check. At a session start a check is always allowed. */
export async function mayPeek(agent: GridAgent, isStart: boolean): Promise<boolean> {
  const path = join(stateFolder(agent), 'peeks.json')
  const allowed = await withLock(`${path}.lock`, waitMs, () => {
    const now = Date.now()
    const at = Number(readJson(path))
    if (!isStart && now - at < peekEveryMs && at <= now) return false
    writeJson(path, now)
    return true
  })
  return allowed ?? isStart
}

/** How long until a session may be woken, in ms; 0 if now. The limits are 3 times a minute and 20 times an hour. */
export function wakePause(agent: GridAgent): number {
  const { AGENT_GRID_WAKES_PER_MINUTE: perMinute, AGENT_GRID_WAKES_PER_HOUR: perHour } = process.env
  const now = Date.now()
  const times = wakesOf(agent, now)
  return Math.max(
    budgetPause(times, countOf(perMinute, 3), minute, now),
    budgetPause(times, countOf(perHour, 20), hour, now),
  )
}

/** Records that a session is woken now. Only the process with the waiter's lock calls this. */
export function countWake(agent: GridAgent): void {
  const now = Date.now()
  writeJson(wakesPath(agent), [...wakesOf(agent, now), now])
}

/** How long to wait, in ms, for an action allowed `count` times within `withinMs`; 0 if it is allowed now. */
export function budgetPause(times: readonly number[], count: number, withinMs: number, now: number): number {
  const recent = times.filter((at) => at > now - withinMs)
  return recent.length < count ? 0 : recent[recent.length - count] + withinMs - now
}

function wakesOf(agent: GridAgent, now: number): number[] {
  const times = readJson(wakesPath(agent))
  return Array.isArray(times) ? times.filter((at) => at > now - hour && at <= now) : []
}

function wakesPath(agent: GridAgent): string {
  return join(stateFolder(agent), 'wakes.json')
}

function countOf(text: string | undefined, fallback: number): number {
  return Number(text) > 0 ? Number(text) : fallback
}

/** A file's JSON; undefined if the file is missing or invalid. The caller checks its shape. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Replaces a file atomically: readers get the old or the new text. Only the machine's user may read it. */
export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600, flag: 'wx' })
  renameSync(temporary, path)
}
