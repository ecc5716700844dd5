/** Reserves names, which tells others "I work on this". See docs/protocol/reservations.md. */
import { type AgentActor, callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { normaliseSpace } from '../../lib/name-patterns.ts'
import { plainName } from '../../lib/names.ts'
import type { Signal } from '../../lib/notifier.ts'
import { day, isoTime, second } from '../../lib/time.ts'
import { presenceWords } from '../../presence.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Reservation } from '../../store/account/reservations.ts'
import { type WaitOptions, waitUntil } from '../messaging/wait-for-messages.ts'
import { wantedMs } from './end-reservations.ts'
import { checkNames, meeting } from './names.ts'

export const reservationSeconds = { min: 60, max: 7 * day / second, default: 3_600 }
export const maxNoteLength = 300
const maxOfAgent = 200
const maxInSpace = 2_000
/** Maximum number of refused agents that a reservation remembers. */
const maxRefused = 20
/** Maximum number of others' reservations named in a refusal. */
const maxShown = 3
/** Maximum length of others' notes in a refusal, in characters. */
const maxShownNote = 120
/** Number of retries when other processes reserve in the same space at the same time. */
const maxAttempts = 20

export interface ReserveInput {
  names: readonly string[]
  note?: string
  seconds?: number
  shared?: boolean
  space?: string
}

export interface Reserved {
  names: string[]
  space: string
  endsAt: number
}

interface Wanted {
  names: string[]
  note: string
  lengthMs: number
  shared: boolean
  space: string
}

/** The reservations of other agents. */
interface Refused {
  by: Reservation[]
}

/**
 * Reserves names for the calling agent, all or none, and waits while others hold them. Names it already holds are
 * renewed. Fails with `already_reserved`, `reservation_limit_reached` or `invalid_input`.
 */
export async function reserve(account: AccountStore, input: ReserveInput, wait: WaitOptions): Promise<Reserved> {
  const agent = callingAgent(account.actor)
  const wanted = checked(input)
  const found = wait.seconds > 0 ? await whenFree(account, wanted, wait) : await tryReserve(account, agent, wanted)
  if (!('by' in found)) return found
  const { change, deps } = account
  await account.write([
    change.reservations.refuse(agent.agentId, found.by.map(({ id }) => id), {
      max: maxRefused,
      since: deps.now() - wantedMs,
      at: deps.now(),
    }),
  ])
  throw refusal(account, found.by)
}

function checked(
  { names: given, note: text = '', seconds = reservationSeconds.default, ...input }: ReserveInput,
): Wanted {
  const { shared = false, space } = input
  const names = checkNames(given)
  if (names.length === 0) throw invalidInput('names is missing: what are you working on?', 'names')
  const note = plainName(text, maxNoteLength)
  if (names.includes('**') && note === '') {
    throw invalidInput('The name ** matches everything. Give the reason in note, or give narrower names.', 'note')
  }
  return { names, note, lengthMs: seconds * second, shared, space: normaliseSpace(space) }
}

async function whenFree(account: AccountStore, wanted: Wanted, wait: WaitOptions): Promise<Reserved | Refused> {
  const agent = callingAgent(account.actor)
  const { notifier } = account.waiting
  let raised: Signal
  const watched = new Map<string, () => void>()
  try {
    return await waitUntil<Reserved | Refused>(account, wait, {
      follow: (signal) => {
        raised = signal
        return () => watched.forEach((unwatch) => unwatch())
      },
      look: async () => {
        for (;;) {
          const found = await tryReserve(account, agent, wanted)
          const news = 'by' in found ? found.by.filter(({ id }) => !watched.has(id)) : []
          if (news.length === 0) return found
          await account.write([account.change.reservations.forget(agent.agentId, news.map(({ id }) => id))])
          // The reservation may have ended before it was watched, so check again.
          for (const { id } of news) watched.set(id, notifier.watch(id, raised))
        }
      },
      isEnough: (found) => !('by' in found),
    })
  } finally {
    watched.clear()
  }
}

/** Reserves for one agent at a time per space: the reservations must not change between the read and the commit. */
async function tryReserve(account: AccountStore, agent: AgentActor, wanted: Wanted): Promise<Reserved | Refused> {
  const turn = `${account.owner} ${wanted.space}`
  return await account.waiting.reservations.run(turn, async () => {
    for (let n = 1;; n++) {
      try {
        return await attempt(account, agent, wanted)
      } catch (error) {
        const hasChanged = error instanceof GridError && error.code === 'write_conflict'
        if (!hasChanged || n === maxAttempts) throw error
      }
    }
  })
}

async function attempt(
  account: AccountStore,
  { agentId }: AgentActor,
  { names, space, lengthMs, shared, note }: Wanted,
): Promise<Reserved | Refused> {
  const { change, read, deps: { now } } = account
  const [inSpace, task, count] = await Promise.all([
    read.reservations.inSpace(space),
    read.reservations.openTask(agentId, names),
    read.reservations.count(agentId),
  ])
  const ofOthers = inSpace.filter((other) => other.agentId !== agentId && !(shared && other.shared))
  const by = await meeting(account, names, ofOthers)
  if (by.length > 0) return { by }
  const own = inSpace.filter((one) => one.agentId === agentId && names.includes(one.name)).length
  requireRoom(count + names.length - own, maxOfAgent, 'An agent')
  requireRoom(inSpace.length + names.length - own, maxInSpace, space === '' ? 'An account' : 'A space')
  const at = now()
  const terms = {
    agent: agentId,
    space,
    shared,
    note,
    task: task?.task ?? null,
    home: task?.home ?? null,
    at,
    lengthMs,
  }
  await account.write([
    change.reservations.requireNoNewer(space, Math.max(0, ...inSpace.map(({ n }) => n))),
    change.reservations.add(terms, names.map((name) => ({ id: newId(), name }))),
  ])
  return { names, space, endsAt: at + lengthMs }
}

function requireRoom(count: number, max: number, whose: string): void {
  if (count <= max) return
  throw new GridError(
    'reservation_limit_reached',
    `${whose} can reserve at most ${max} names at a time. Release some, or use wildcards.`,
  )
}

function refusal(account: AccountStore, by: readonly Reservation[]): GridError {
  const held = by.slice(0, maxShown).map((other) => {
    const { alias, name, endsAt, note } = other
    const presence = presenceWords(account.waiting.presence.at(other.agentId), other.lastSeenAt, account.deps.now())
    const said = note && `, note: ${JSON.stringify(plainName(note, maxShownNote))}`
    return `@${alias} (${presence}) has ${name} until ${isoTime(endsAt)}${said}.`
  })
  const more = by.length > maxShown ? [`${by.length - maxShown} more.`] : []
  return new GridError(
    'already_reserved',
    [
      ...held,
      ...more,
      'Work on something else, call again with wait_seconds, or write to them. You get a message when it is free.',
    ].join(' '),
    { field: 'names' },
  )
}
