/** Ends reservations and notifies agents. See docs/protocol/reservations.md, "Their end". */
import { callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { normaliseSpace } from '../../lib/name-patterns.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Notice } from '../../store/account/notices.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { checkNames } from './names.ts'

/** An agent is notified that a name became free only if it was refused the name at most this long ago. */
export const wantedMs = hour
const maxRead = 1_000
const maxListed = 5

/**
 * Releases names that the calling agent has reserved: the given ones, all in a space, or all. Resolves to these names.
 */
export async function release(
  account: AccountStore,
  input: { names?: readonly string[]; space?: string },
): Promise<string[]> {
  const { agentId } = callingAgent(account.actor)
  const names = checkNames(input.names ?? [])
  const space = input.space === undefined && names.length === 0 ? null : normaliseSpace(input.space)
  return await retryOnConflict(async () => {
    const all = await account.read.reservations.page({ agent: agentId, space }, 0, maxRead)
    const found = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
    await end(account, found.map(({ id }) => id))
    return found.map(({ name }) => name)
  })
}

/** Ends an agent's reservation, as a person. Fails with `reservation_not_found`. */
export async function endReservation(account: AccountStore, id: string): Promise<string> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    const [found] = await account.read.reservations.byIds([id])
    if (!found) throw new GridError('reservation_not_found', 'This reservation has ended.')
    await end(account, [id], 'A person has ended your reservation', precondition)
    return found.name
  })
}

/** Ends one agent's reservations that have expired or whose task has ended. */
export async function endDue(account: AccountStore, ids: readonly string[], isOfTask: boolean): Promise<void> {
  await end(
    account,
    ids,
    isOfTask ? 'Its task has ended, and so has your reservation' : 'The time is over of your reservation',
  )
}

/** Ends one agent's reservations. `why` is the reason in the notice to the agent; without `why`, it gets no notice. */
async function end(
  account: AccountStore,
  ids: readonly string[],
  why?: string,
  precondition: ReturnType<AccountStore['change']['reservations']['end']> = [],
): Promise<void> {
  if (ids.length === 0) return
  const at = account.deps.now()
  const ended = await account.read.reservations.byIds(ids)
  const notices: Notice[] = []
  const wanted = new Map<string, { from: string; alias: string; names: string[] }>()
  for (const { agentId, alias, name, refused } of ended) {
    for (const [to, since] of refused) {
      if (at - since > wantedMs || to === agentId) continue
      const found = wanted.get(to) ?? { from: agentId, alias, names: [] }
      wanted.set(to, found)
      found.names.push(name)
    }
  }
  for (const [to, { from, alias, names }] of wanted) {
    const body = `@${alias} has released ${listed(names)}. If you still need it, call reserve.`
    notices.push({ id: newId(), from, to, body })
  }
  if (why !== undefined && ended.length > 0) {
    const [{ agentId }] = ended
    const body = `${why} of ${listed(ended.map(({ name }) => name))}. If you still work on it, call reserve again.`
    notices.push({ id: newId(), from: agentId, to: agentId, body })
  }
  await account.write([...precondition, ...account.change.reservations.end(ids, notices, at)])
}

function listed(names: readonly string[]): string {
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : ''
  return names.slice(0, maxListed).join(', ') + more
}
