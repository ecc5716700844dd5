/** Lists reservations. See docs/protocol/reservations.md. */
import { callingAgent } from '../../auth/actor.ts'
import { normaliseSpace } from '../../lib/name-patterns.ts'
import { type Page, readPage } from '../../lib/read-page.ts'
import { isoTime } from '../../lib/time.ts'
import { presenceWords } from '../../presence.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Reservation } from '../../store/account/reservations.ts'
import { agentPage } from '../agent-page.ts'
import { checkNames, meeting } from './names.ts'

export interface ListedReservation {
  name: string
  agent: string
  presence: string
  ends_at: string
  space?: string
  shared?: true
  note?: string
}

export interface ReservationFilter {
  /** Only reservations that overlap one of these names. */
  names?: readonly string[]
  /** Only reservations of the calling agent. */
  mine?: boolean
  space?: string
  cursor?: string
}

/** Returns a page of the account's live reservations, oldest first. */
export async function listReservations(
  account: AccountStore,
  { names: given = [], mine = false, space, cursor }: ReservationFilter,
): Promise<Page<ListedReservation>> {
  const names = checkNames(given, 100)
  const filter = {
    agent: mine ? callingAgent(account.actor).agentId : '',
    space: space === undefined ? null : normaliseSpace(space),
  }
  let wanted: readonly Reservation[]
  return await readPage(
    {
      read: async (after, limit) => {
        const found = await account.read.reservations.page(filter, Number(after) || 0, limit)
        wanted = names.length === 0 ? found : await meeting(account, names, found)
        return found
      },
      keyOf: ({ n }) => String(n),
      entryOf: (found) => wanted.includes(found) ? asListed(account, found) : undefined,
    },
    cursor,
    agentPage,
  )
}

function asListed(
  { waiting: { presence }, deps: { now } }: AccountStore,
  { name, agentId, alias, lastSeenAt, endsAt, space, shared, note }: Reservation,
): ListedReservation {
  return {
    name,
    agent: `@${alias}`,
    presence: presenceWords(presence.at(agentId), lastSeenAt, now()),
    ends_at: isoTime(endsAt),
    ...(space !== '' && { space }),
    ...(shared && { shared: true }),
    ...(note !== '' && { note }),
  }
}
