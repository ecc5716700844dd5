/** The open, attended sessions of coding clients, as reported by their hooks. */
import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { hour, minute, second } from '../../lib/time.ts'
import { isAlive, type ProcessMark, withLock } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'

/** Hooks of the same event run concurrently, and wait this long for each other. */
const waitMs = 500

/** A client process. It keeps its file when its session id changes, as after `/clear`. */
export interface Session extends ProcessMark {
  client: string
  /** The id of the session or thread that the client currently shows. */
  id: string
  /** When it opened, in ms since 1970. */
  since: number
  /** It has a waiter, so new messages can wake it. */
  wakes: boolean
  /** Its model is working, as far as the hooks show. */
  busy: boolean
  /** When a hook last recorded it, in ms since 1970. */
  at: number
}

/**
 * Records the current state of a process. Fields missing in `news` are unchanged; an unknown process has just opened.
 * Resolves to the stored state.
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

/** The sessions whose process is running, newest last. The files of others are removed. */
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
    // Another hook has removed it.
  }
}

interface Notified {
  id: string
  /** When it was notified last, in ms since 1970. */
  at: number
  times: number
  session: string
}

/** The session that is notified. */
interface NotifyOptions {
  session: string
  /** It is starting, so it is also notified of messages announced only to earlier sessions. */
  isStart?: boolean
  /** It is also notified again of messages announced once, at least this many ms ago. */
  againAfterMs?: number
}

/** With a larger inbox, old messages may be announced again. */
const keptIds = 200

/**
 * Those of these unread messages that a session must be notified of. They count as announced from now on: of several
 * processes that ask at the same time, only one gets a message.
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
      // The last ones in the list are kept longest.
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

/** Minimum interval between inbox checks by one agent's hooks, across its sessions. */
const peekEveryMs = 15 * second

/** Whether a hook may check the inbox now. If so, records the check. A session start always may. */
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

/**
 * How long, in ms, no session may be woken: at most 3 times a minute and 20 times an hour; 0 if one may be woken now.
 */
export function wakePause(agent: GridAgent): number {
  const { AGENT_GRID_WAKES_PER_MINUTE: perMinute, AGENT_GRID_WAKES_PER_HOUR: perHour } = process.env
  const now = Date.now()
  const times = wakesOf(agent, now)
  return Math.max(
    budgetPause(times, countOf(perMinute, 3), minute, now),
    budgetPause(times, countOf(perHour, 20), hour, now),
  )
}

/** Records that a session is woken now. Only the process with the waiter's lock calls it. */
export function countWake(agent: GridAgent): void {
  const now = Date.now()
  writeJson(wakesPath(agent), [...wakesOf(agent, now), now])
}

/** How long to wait, in ms, for something allowed `count` times within `withinMs`; 0 if it is allowed now. */
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

/** Replaces a file atomically: a reader gets the old or the new text. Only the machine's user may read it. */
export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600, flag: 'wx' })
  renameSync(temporary, path)
}
