/** What a model has been told, so that nothing is told again and again. */
import { join } from 'node:path'
import { readJson, writeJson } from './json-file.ts'
import { withLock } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'

interface Told {
  id: string
  /** When it was told last, in ms since 1970. */
  at: number
  times: number
  /** The session that was told last. */
  session: string
}

/** The session that is told. */
export interface TellOptions {
  session: string
  /** It begins, so it hears of messages that only earlier sessions were told of. */
  isStart?: boolean
  /** It also hears of messages that were told once, at least so many ms ago. */
  againAfterMs?: number
}

/** An inbox of more tells of old messages again. */
const keptIds = 200
/** Hooks that run at the same time wait so long for each other. */
const waitMs = 500

/**
 * Of these unread messages, those that a session has to be told of. They count as told from now on: of several processes
 * that ask at the same time, one gets a message.
 */
export async function claimUntold<M extends { message_id: string }>(
  agent: GridAgent,
  messages: readonly M[],
  options: TellOptions,
): Promise<M[]> {
  if (messages.length === 0) return []
  const path = join(stateFolder(agent), 'told.json')
  const claimed = await withLock(`${path}.lock`, waitMs, () => {
    const now = Date.now()
    const known = new Map(readTold(path).map((told) => [told.id, told]))
    const untold = messages.filter(({ message_id }) => isUntold(known.get(message_id), options, now))
    for (const { message_id: id } of untold) {
      const times = (known.get(id)?.times ?? 0) + 1
      // The last in the list are kept longest.
      known.delete(id)
      known.set(id, { id, at: now, times, session: options.session })
    }
    if (untold.length > 0) writeJson(path, [...known.values()].slice(-keptIds))
    return untold
  })
  return claimed ?? []
}

function isUntold(told: Told | undefined, { session, isStart, againAfterMs }: TellOptions, now: number): boolean {
  if (!told || isStart && told.session !== session) return true
  return againAfterMs !== undefined && told.times < 2 && now - told.at >= againAfterMs
}

function readTold(path: string): Told[] {
  const told = readJson(path)
  return Array.isArray(told) ? told.filter((entry) => typeof entry?.id === 'string') : []
}
