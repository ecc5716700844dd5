/** The open sessions of coding clients that a person attends, as their hooks report them. */
import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { hour, minute, second } from '../../lib/time.ts'
import { isAlive, type ProcessMark, withLock } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'

/** The hooks of one event run at the same time, and wait so long for each other. */
const waitMs = 500

/** A process of a client. It keeps its file when its session id changes, as after `/clear`. */
export interface Session extends ProcessMark {
  client: string
  /** The id of the session or thread that the client shows now. */
  id: string
  /** When it opened, in ms since 1970. */
  since: number
  /** It has a waiter, so that new messages can wake it. */
  wakes: boolean
  /** Its model is at work, as far as the hooks show. */
  busy: boolean
  /** When a hook kept it last, in ms since 1970. */
  at: number
}

/**
 * Keep what is known of a process now. What `news` does not say stays as it was; a process that was not known has opened
 * now. Resolves to what is kept.
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

/** The sessions whose process runs, the newest last. The files of others are removed. */
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
  /** It begins, so it hears of messages that only earlier sessions were notified of. */
  isStart?: boolean
  /** It also hears of messages that were notified once, at least so many ms ago. */
  againAfterMs?: number
}

/** A larger inbox announces old messages again. */
const keptIds = 200

/**
 * Of these unread messages, those that a session has to be notified of. They count as notified from now on: of several processes
 * that ask at the same time, one gets a message.
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
      // The last in the list are kept longest.
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

/** Hooks of one agent look once in this time, whatever happens in its sessions. */
const peekEveryMs = 15 * second

/** Whether a hook may look into the inbox now; if so, it counts. The start of a session always may. */
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

/** For how long, in ms, no session may be woken: 3 times a minute and 20 times an hour; 0 if one may be now. */
export function wakePause(agent: GridAgent): number {
  const { AGENT_GRID_WAKES_PER_MINUTE: perMinute, AGENT_GRID_WAKES_PER_HOUR: perHour } = process.env
  const now = Date.now()
  const times = wakesOf(agent, now)
  return Math.max(
    budgetPause(times, countOf(perMinute, 3), minute, now),
    budgetPause(times, countOf(perHour, 20), hour, now),
  )
}

/** A session is woken now. Only the process with the lock of the waiter calls it. */
export function countWake(agent: GridAgent): void {
  const now = Date.now()
  writeJson(wakesPath(agent), [...wakesOf(agent, now), now])
}

/** For how long, in ms, something may not happen again that may `count` times within `withinMs`; 0 if it may now. */
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

/** What is in a file; undefined if there is none, or no JSON in it. The caller checks its shape. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Replace a file at once: a reader gets the old or the new text. Only the user of the machine reads it. */
export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600, flag: 'wx' })
  renameSync(temporary, path)
}
