/** Reservation tools. See docs/protocol/reservations.md. */
import * as z from 'zod'
import { agentPage } from '../grid/agent-page.ts'
import { release } from '../grid/reservations/end-reservations.ts'
import { listReservations } from '../grid/reservations/list-reservations.ts'
import { maxNoteLength, reservationSeconds, reserve } from '../grid/reservations/reserve.ts'
import { maxWaitSeconds } from '../grid/messaging/wait-for-messages.ts'
import { atMost, identifier } from '../lib/input.ts'
import { isoTime } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import { pageOutput, tool, waitOf } from './tool.ts'

const names = z.array(identifier)

export const reserveTool = tool({
  name: 'reserve',
  description: 'Announce what you work on, so others avoid it. Not a lock.',
  annotations: { destructiveHint: false },
  input: z.strictObject({
    names: names.optional().describe('Paths (* and ** allowed) or tickets'),
    note: atMost(z.string(), maxNoteLength).optional(),
    expires_in_seconds: z.int().min(reservationSeconds.min).max(reservationSeconds.max).optional(),
    shared: z.boolean().optional(),
    space: identifier.optional().describe('Git remote'),
    release: z.boolean().optional(),
    wait_seconds: z.int().min(0).max(maxWaitSeconds).optional(),
  }),
  async run(account: AccountStore, { release: isRelease, wait_seconds, expires_in_seconds: seconds, ...input }, call) {
    if (isRelease) return { text: { released: await release(account, input) } }
    const { names, endsAt } = await reserve(
      account,
      { ...input, names: input.names ?? [], seconds },
      waitOf(call, wait_seconds),
    )
    return { text: { reserved: names, ends_at: isoTime(endsAt) } }
  },
})

export const listReservationsTool = tool({
  name: 'list_reservations',
  description: 'List what agents have reserved.',
  annotations: { readOnlyHint: true },
  input: z.strictObject({
    names: names.optional(),
    mine: z.boolean().optional(),
    cursor: identifier.optional(),
  }),
  listBytes: agentPage.bytes,
  async run(account: AccountStore, input) {
    const { entries, cursor } = await listReservations(account, input)
    return pageOutput('list_reservations', 'reservations', entries, cursor)
  },
})
