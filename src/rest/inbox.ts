/** `/api/v1/inbox`: what waits for an agent, and leases on it. See docs/protocol.md, "Inbox over REST". */
import * as z from 'zod'
import { callingAgent } from '../auth/actor.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { maxBatch } from '../grid/messaging/inbox-message.ts'
import { peekInbox, summarizeInbox } from '../grid/messaging/read-again.ts'
import {
  ackMessages,
  extendLease,
  leaseMessages,
  leaseSeconds,
  releaseMessages,
} from '../grid/messaging/timed-leases.ts'
import { turnsNote } from '../grid/messaging/turns.ts'
import { apiLimits } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { identifier, parse } from '../lib/input.ts'
import { isoTime } from '../lib/time.ts'
import type { AppContext, Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import { readOptionalJson } from './json-body.ts'

/** How many messages a look shows by default. */
const defaultPeek = 20

const seconds = z.int().min(leaseSeconds.min).max(leaseSeconds.max)
/** Messages of a lease. It never has more than one answer holds. */
export const messageIds = z.array(identifier).min(1).max(maxBatch)

/** The query of a look. */
export const peekQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxBatch).optional().describe(
    `At most this many messages; ${defaultPeek} without it`,
  ),
  summary: z.enum(['true', 'false']).optional().describe('true: without what the messages say'),
})
/** The body of a lease. */
export const newLease = z.strictObject({
  limit: z.int().min(1).max(maxBatch).optional().describe(`At most this many messages; ${maxBatch} without it`),
  max_chars: z.int().min(1).optional().describe(
    'Longest total of the messages; a longer first message comes alone, shortened',
  ),
  seconds: seconds.optional().describe(`How long the lease lasts; ${leaseSeconds.default} without it`),
  message_ids: messageIds.optional().describe('Only these, as far as they are unread'),
  conversation_id: identifier.optional().describe('Only messages of this conversation'),
})
/** The body of an extension. */
export const extension = z.strictObject({ seconds: seconds.describe('The lease expires so many seconds from now') })
/** The body of an ack or a release. */
export const leasedMessages = z.strictObject({
  message_ids: messageIds.optional().describe('Only these messages of the lease; without it, all'),
})

/** The operations of the endpoint. */
export interface InboxRoutes {
  peek: Handler
  lease: Handler
  extend: Handler
  ack: Handler
  release: Handler
}

/**
 * Answers agents with their inbox. Fails with `unauthenticated`, `rate_limit_exceeded`, `wrong_credential` (not an
 * agent), as `readJsonObject` does, or as the verb does.
 */
export function inboxRoutes(authenticateCall: AuthenticateCall, { bodies }: Deps): InboxRoutes {
  const asAgent = (answer: (account: AccountStore, c: AppContext) => Promise<Response>): Handler =>
    async function inbox(c) {
      const { account } = await authenticateCall(c)
      callingAgent(account.actor)
      return await answer(account, c)
    }
  const readBody = <T>(schema: z.ZodType<T>, c: AppContext) =>
    readOptionalJson(bodies, c.req.raw, apiLimits).then((body) => parse(schema, body))
  const partOf = async (c: AppContext) => {
    const { message_ids: messageIds } = await readBody(leasedMessages, c)
    return { leaseId: leaseIdOf(c), messageIds }
  }

  return {
    peek: asAgent(async (account, c) => {
      const query = parse(peekQuery, Object.fromEntries(new URL(c.req.url).searchParams))
      const { limit = defaultPeek } = query
      return Response.json(await (query.summary === 'true' ? summarizeInbox : peekInbox)(account, { limit }))
    }),

    lease: asAgent(async (account, c) => {
      const body = await readBody(newLease, c)
      const { leaseId, expiresAt, messages, remaining, turns } = await leaseMessages(account, {
        limit: body.limit,
        maxChars: body.max_chars,
        seconds: body.seconds,
        messageIds: body.message_ids,
        conversationId: body.conversation_id,
      })
      if (leaseId !== undefined) await releaseUnlessTaken(account, leaseId, c)
      return Response.json({
        lease_id: leaseId ?? null,
        expires_at: expiresAt === undefined ? null : isoTime(expiresAt),
        messages,
        remaining,
        ...(turns !== undefined && { turns, note: turnsNote(turns) }),
      })
    }),

    extend: asAgent(async (account, c) => {
      const { seconds } = await readBody(extension, c)
      return Response.json({ expires_at: isoTime(await extendLease(account, leaseIdOf(c), seconds)) })
    }),

    ack: asAgent(async (account, c) => {
      return Response.json({ acked: await ackMessages(account, await partOf(c)) })
    }),

    release: asAgent(async (account, c) => {
      return Response.json({ released: await releaseMessages(account, await partOf(c)) })
    }),
  }
}

function leaseIdOf(c: AppContext): string {
  return parse(identifier, c.req.param('lease'))
}

/** A caller that did not take its answer does not know the lease, and would wait for its end. */
async function releaseUnlessTaken(account: AccountStore, leaseId: string, c: AppContext): Promise<void> {
  const caller = new CallerConnection(c.req.raw, c.env)
  const release = async () => void await releaseMessages(account, { leaseId }).catch(ignoreEnded)
  if (await caller.hasLeft()) return await release()
  void caller.answerTaken()?.then((isTaken) => isTaken ? undefined : release())
}

/** The caller may have ended the lease over another connection; without the database, it ends by itself. */
function ignoreEnded(): void {}
