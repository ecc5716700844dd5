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
import { inListSlot } from '../grid/list-slots.ts'
import { apiLimits } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { atMost, parse } from '../lib/input.ts'
import { wellFormed } from '../lib/text.ts'
import type { Handler, RequestContext } from '../request-context.ts'
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
  const asAdmin = (answer: (account: AccountStore, context: RequestContext) => Promise<Response>): Handler =>
    async function guardrails(context) {
      const { account } = await authenticateCall(context)
      requireAdmin(account.actor)
      return await answer(account, context)
    }
  const readBody = ({ request }: RequestContext) => readJsonObject(bodies, request, apiLimits)

  return {
    list: asAdmin(async (account, context) => {
      const { request, requestId, connection } = context
      const query = Object.fromEntries(new URL(request.url).searchParams)
      const call = { tool: 'admin_list_guardrails', arguments: query, requestId }
      return Response.json(
        await recordActivity(account, call, async (recording) => {
          const wanted = parse(page, query)
          const reports = new CallerConnection(request, connection)
          return await inListSlot(recording, reports, listBytes, () => listGuardrails(recording, wanted))
        }),
      )
    }),

    create: asAdmin(async (account, context) => {
      const body = await readBody(context)
      const call = { tool: 'create_guardrail', arguments: body, requestId: context.requestId }
      const created = await recordActivity(account, call, (recording) => {
        return createGuardrail(recording, parse(newGuardrail, body))
      })
      const headers = { Location: `/api/v1/guardrails/${created.id}` }
      return Response.json(shown(created, 0), { status: 201, headers })
    }),

    show: asAdmin(async (account, context) => {
      const ref = refOf(context)
      const call = { tool: 'admin_list_guardrails', arguments: { guardrail: ref }, requestId: context.requestId }
      return Response.json(await recordActivity(account, call, (recording) => showGuardrail(recording, ref)))
    }),

    update: asAdmin(async (account, context) => {
      const body = await readBody(context)
      const named = await namedIn(account, refOf(context))
      const call = { tool: 'update_guardrail', arguments: { ...named, ...body }, requestId: context.requestId }
      const changed = await recordActivity(account, call, (recording) => {
        return updateGuardrail(recording, named.id, parse(changes, body))
      })
      return Response.json(shown(changed, await account.read.guardrails.agentsOfTotal(changed.id)))
    }),

    remove: asAdmin(async (account, context) => {
      const named = await namedIn(account, refOf(context))
      const call = { tool: 'delete_guardrail', arguments: named, requestId: context.requestId }
      const { id } = await recordActivity(account, call, (recording) => deleteGuardrail(recording, named.id))
      return Response.json({ deleted: true, id })
    }),
  }
}

/** The id or name in the path. Fails with `guardrail_not_found` if it cannot be one. */
function refOf(context: RequestContext): string {
  const ref = context.param('guardrail')
  if (wellFormed(ref) !== ref) throw guardrailNotFound()
  return ref
}

/** What the log says of a guardrail: its id, and its name, which cannot be looked up after a deletion. */
async function namedIn(account: AccountStore, ref: string): Promise<{ id: string; name?: string }> {
  const found = await account.read.guardrails.byRef(ref.trim())
  return found ? { id: found.id, name: found.name } : { id: ref }
}
