/** `/api/v1/reservations`: the resources that agents are working on. See docs/protocol/reservations.md. */
import * as z from 'zod'
import { release } from '../grid/reservations/end-reservations.ts'
import { listReservations } from '../grid/reservations/list-reservations.ts'
import { maxNames } from '../grid/reservations/names.ts'
import { maxNoteLength, reservationSeconds, reserve } from '../grid/reservations/reserve.ts'
import { maxWaitSeconds } from '../grid/messaging/wait-for-messages.ts'
import { atMost, identifier } from '../lib/input.ts'
import { isoTime } from '../lib/time.ts'
import { waitOf } from './inbox.ts'
import { flag, names, type Route, route, time } from './route.ts'

const space = identifier.optional().describe('A git remote, or any name. Default: the account')
const newReservation = z.strictObject({
  names: z.array(identifier).max(maxNames).optional().describe('Paths with wildcards, tickets, or any other names'),
  note: atMost(z.string(), maxNoteLength).optional().describe('A note for other agents'),
  expires_in_seconds: z.int().min(reservationSeconds.min).max(reservationSeconds.max).optional()
    .describe(`Without it ${reservationSeconds.default}`),
  shared: z.boolean().optional().describe('Whether other agents may share the names'),
  space,
  release: z.boolean().optional().describe('Release these names, or all if no names are given'),
  wait_seconds: z.int().min(0).max(maxWaitSeconds).optional().describe('How long to wait until the names are free'),
})

const query = z.strictObject({
  name: z.string().meta({ maxLength: 20_000 }).optional().describe(
    'Only reservations that overlap this name, or any of several names separated by line breaks',
  ),
  mine: z.enum(['true', 'false']).optional().describe('Only reservations of the calling agent'),
  space: identifier.optional().describe('Only reservations in this space'),
  cursor: identifier.optional().describe('The cursor of the previous page'),
})

export const reservationRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/reservations',
    id: 'reserve',
    tag: 'Reservations',
    summary: 'Reserve names, or release them',
    caller: 'agent key',
    body: newReservation,
    answers: {
      200: {
        description: 'All names are reserved or released',
        json: z.object({
          reserved: names.optional(),
          released: names.optional(),
          ends_at: time('When the reservation ends unless it is extended').optional(),
        }),
      },
    },
    errors: ['invalid_input', 'already_reserved', 'reservation_limit_reached', 'write_conflict', 'storage_full'],
    async serve(call) {
      const { account, body: { release: isRelease, wait_seconds, expires_in_seconds: seconds, ...input } } = call
      if (isRelease) return { released: await release(account, input) }
      const wanted = { ...input, names: input.names ?? [], seconds }
      const { names, endsAt } = await reserve(account, wanted, waitOf(call, { wait_seconds }))
      return { reserved: names, ends_at: isoTime(endsAt) }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/reservations',
    id: 'listReservations',
    tag: 'Reservations',
    summary: 'List current reservations',
    caller: 'agent key',
    query,
    answers: {
      200: {
        description: "A page of the account's current reservations, oldest first",
        json: z.object({
          reservations: z.array(z.object({
            name: z.string(),
            agent: z.string().describe("The holder's alias, with @"),
            presence: z.string(),
            ends_at: time('When the reservation ends unless it is extended'),
            space: z.string().optional(),
            shared: flag('Whether other agents may share it'),
            note: z.string().optional(),
          })),
          cursor: z.string().optional().describe('Present if there are more'),
        }),
      },
    },
    errors: ['invalid_input'],
    async serve({ account, query: { name, mine, ...filter } }) {
      const names = name?.split('\n').filter((line) => line.trim() !== '')
      const { entries, cursor } = await listReservations(account, { ...filter, names, mine: mine === 'true' })
      return { reservations: entries, ...(cursor !== undefined && { cursor }) }
    },
  }),
]
