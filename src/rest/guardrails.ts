/** `/api/v1/guardrails`: the guardrails of an account, for its admins. See docs/protocol.md, "Guardrails over REST". */
import * as z from 'zod'
import { requireAdmin } from '../auth/actor.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { recordActivity } from '../grid/activity.ts'
import { createGuardrail, deleteGuardrail, updateGuardrail } from '../grid/guardrails/guardrails.ts'
import {
  guardrailNotFound,
  listBytes,
  listGuardrails,
  maxListed,
  showGuardrail,
  shown,
} from '../grid/guardrails/list-guardrails.ts'
import { inListSlot } from '../grid/lists.ts'
import { apiLimits } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { atMost, parse } from '../lib/input.ts'
import { wellFormed } from '../lib/text.ts'
import type { AppContext, Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import { readJsonObject } from './json-body.ts'

const token = atMost(z.string().min(1), 4_000)
const settings = {
  config: z.unknown().optional(),
  action: z.enum(['block', 'redact', 'flag']).optional(),
  onFailure: z.enum(['closed', 'open']).optional(),
  enabled: z.boolean().optional(),
}
/** The body of a new guardrail. */
export const newGuardrail = z.strictObject({
  name: z.string(),
  provider: z.string(),
  token: token.optional(),
  ...settings,
})
/** The body of a change. */
export const changes = z.strictObject({ name: z.string().optional(), token: token.nullable().optional(), ...settings })
/** The query of a page. */
export const page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxListed).optional(),
  cursor: z.string().optional(),
})

/** The operations of the endpoint. */
export interface GuardrailRoutes {
  list: Handler
  create: Handler
  show: Handler
  update: Handler
  remove: Handler
}

/**
 * Answers admins with their guardrails as `admin_list_guardrails` shows them, and records each call in the activity
 * log. Fails with `unauthenticated`, `rate_limit_exceeded`, `wrong_credential` (an agent), as `readJsonObject` does, or
 * as the verb does.
 */
export function guardrailRoutes(authenticateCall: AuthenticateCall, { bodies }: Deps): GuardrailRoutes {
  const asAdmin = (answer: (account: AccountStore, c: AppContext) => Promise<Response>): Handler =>
    async function guardrails(c) {
      const { account } = await authenticateCall(c)
      requireAdmin(account.actor)
      return await answer(account, c)
    }
  const readBody = (c: AppContext) => readJsonObject(bodies, c.req.raw, apiLimits)

  return {
    list: asAdmin(async (account, c) => {
      const request = c.req.raw
      const query = Object.fromEntries(new URL(request.url).searchParams)
      const call = { tool: 'admin_list_guardrails', arguments: query, requestId: c.get('requestId') }
      return Response.json(
        await recordActivity(account, call, async (recording) => {
          const wanted = parse(page, query)
          const reports = new CallerConnection(request, c.env)
          return await inListSlot(recording, reports, listBytes, () => listGuardrails(recording, wanted))
        }),
      )
    }),

    create: asAdmin(async (account, c) => {
      const body = await readBody(c)
      const call = { tool: 'create_guardrail', arguments: body, requestId: c.get('requestId') }
      const created = await recordActivity(account, call, (recording) => {
        return createGuardrail(recording, parse(newGuardrail, body))
      })
      const headers = { Location: `/api/v1/guardrails/${created.id}` }
      return Response.json(shown(created, 0), { status: 201, headers })
    }),

    show: asAdmin(async (account, c) => {
      const ref = refOf(c)
      const call = { tool: 'admin_list_guardrails', arguments: { guardrail: ref }, requestId: c.get('requestId') }
      return Response.json(await recordActivity(account, call, (recording) => showGuardrail(recording, ref)))
    }),

    update: asAdmin(async (account, c) => {
      const body = await readBody(c)
      const named = await namedIn(account, refOf(c))
      const call = { tool: 'update_guardrail', arguments: { ...named, ...body }, requestId: c.get('requestId') }
      const changed = await recordActivity(account, call, (recording) => {
        return updateGuardrail(recording, named.id, parse(changes, body))
      })
      return Response.json(shown(changed, await account.read.guardrails.agentsOfTotal(changed.id)))
    }),

    remove: asAdmin(async (account, c) => {
      const named = await namedIn(account, refOf(c))
      const call = { tool: 'delete_guardrail', arguments: named, requestId: c.get('requestId') }
      const { id } = await recordActivity(account, call, (recording) => deleteGuardrail(recording, named.id))
      return Response.json({ deleted: true, id })
    }),
  }
}

/** The id or name in the path. Fails with `guardrail_not_found` if it cannot be one. */
function refOf(c: AppContext): string {
  const ref = c.req.param('guardrail')!
  if (wellFormed(ref) !== ref) throw guardrailNotFound()
  return ref
}

/** What the log says of a guardrail: its id, and its name, which cannot be looked up after a deletion. */
async function namedIn(account: AccountStore, ref: string): Promise<{ id: string; name?: string }> {
  const found = await account.read.guardrails.byRef(ref.trim())
  return found ? { id: found.id, name: found.name } : { id: ref }
}
