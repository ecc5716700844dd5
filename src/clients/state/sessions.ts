/** The open sessions of coding clients that a person attends, as their hooks report them. */
import { readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, writeJson } from './json-file.ts'
import { withLock } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'
import { isAlive, type ProcessMark } from './processes.ts'

/** A process of a client. It keeps its file when its session id changes, as after `/clear`. */
export interface Session extends ProcessMark {
  client: string
  /** The id of the session or thread that the client shows now. */
  id: string
  /** When it opened, in ms since 1970. */
  since: number
  /** It has a waiter, so that new messages can wake it. */
  wakes: boolean
  /** Its model is at work, as far as the hooks tell. */
  busy: boolean
  /** When a hook kept it last, in ms since 1970. */
  at: number
}

/** The hooks of one event run at the same time, and wait so long for each other. */
const waitMs = 300

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
