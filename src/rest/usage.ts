/** `/api/v1/usage`: the account's usage and quotas. See docs/operating/accounts.md, "Quotas". */
import * as z from 'zod'
import { usageOf } from '../grid/limits.ts'
import { type Route, route } from './route.ts'

const limit = (what: string) => z.int().describe(`${what}; 0 for any number`)

export const usageRoute: Route = route({
  path: '/api/v1/usage',
  tag: 'Usage',
  caller: 'admin',
  method: 'GET',
  id: 'getUsage',
  summary: "The account's limits, and what it sent on each of the last 31 days (UTC)",
  answers: {
    200: {
      description: 'Done',
      json: z.object({
        limits: z.object({
          messagesPerDay: limit('Messages per day'),
          megabytesPerDay: limit('Megabytes per day'),
          agents: limit('Agents'),
          retentionDays: z.int().describe('How long messages are kept'),
        }),
        agents: z.int(),
        members: z.int(),
        days: z.array(z.object({ day: z.string(), messages: z.int(), bytes: z.int() })).describe('Newest first'),
      }).meta({ id: 'Usage' }),
    },
  },
  errors: ['storage_full'],
  recordedAs: 'get_usage',
  serve: ({ account }) => usageOf(account),
})
