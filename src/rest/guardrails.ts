/** `/api/v1/guardrails`: an account's guardrails, for its admins. See docs/protocol/guardrails.md, "Over REST". */
import * as z from 'zod'
import { createGuardrail, deleteGuardrail, updateGuardrail } from '../grid/guardrails/guardrails.ts'
import {
  guardrailNotFound,
  listBytes,
  listGuardrails,
  maxListed,
  showGuardrail,
  shown,
} from '../grid/guardrails/list-guardrails.ts'
import { inListSlot } from '../answers/room.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { atMost } from '../lib/input.ts'
import { wellFormed } from '../lib/text.ts'
import type { AccountStore } from '../store/account.ts'
import { type Route, route } from './route.ts'

const token = atMost(z.string().min(1), 4_000)
const settings = {
  config: z.unknown().optional(),
  action: z.enum(['block', 'hold', 'redact', 'flag']).optional(),
  onFailure: z.enum(['closed', 'open']).optional(),
  enabled: z.boolean().optional(),
}
/** The schemas document these limits. The operations enforce them. */
const name = z.string().meta({ maxLength: 64 })
const newGuardrail = z.strictObject({ name, provider: name, token: token.optional(), ...settings })
const changes = z.strictObject({ name: name.optional(), token: token.nullable().optional(), ...settings })
const page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxListed).optional(),
  cursor: z.string().optional(),
})

const guardrail = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  config: z.unknown(),
  action: z.enum(['block', 'hold', 'redact', 'flag']),
  onFailure: z.enum(['closed', 'open']),
  enabled: z.boolean(),
  agentCount: z.int().describe('How many agents the guardrail checks'),
  createdAt: z.string().meta({ format: 'date-time', description: 'When the guardrail was created' }),
}).meta({ id: 'Guardrail' })
const guardrailList = z.object({
  guardrails: z.array(guardrail),
  total: z.int(),
  next_cursor: z.string().optional(),
})

const ofAll = { path: '/api/v1/guardrails', tag: 'Guardrails', caller: 'admin' } as const
const ofOne = {
  ...ofAll,
  path: '/api/v1/guardrails/{guardrail}',
  parameters: { guardrail: 'id or name of the guardrail' },
} as const

export const guardrailRoutes: Route[] = [
  route({
    ...ofAll,
    method: 'GET',
    id: 'listGuardrails',
    summary: "List the account's guardrails",
    query: page,
    answers: { 200: { description: 'Done', json: guardrailList } },
    errors: ['invalid_input', 'storage_full'],
    recordedAs: 'admin_list_guardrails',
    serve: ({ account, c, query }) => {
      const connection = new CallerConnection(c.req.raw, c.env)
      return inListSlot(account, connection, listBytes, () => listGuardrails(account, query))
    },
  }),
  route({
    ...ofAll,
    method: 'POST',
    id: 'createGuardrail',
    summary: 'Create a guardrail',
    body: newGuardrail,
    answers: { 201: { description: 'The guardrail', json: guardrail, headers: { Location: 'Where it is' } } },
    errors: ['invalid_input', 'guardrail_taken', 'write_conflict', 'storage_full'],
    recordedAs: 'create_guardrail',
    async serve({ account, body }) {
      const created = await createGuardrail(account, body)
      const headers = { Location: `/api/v1/guardrails/${created.id}` }
      return Response.json(shown(created, 0), { status: 201, headers })
    },
  }),
  route({
    ...ofOne,
    method: 'GET',
    id: 'getGuardrail',
    summary: 'Show a guardrail',
    answers: { 200: { description: 'Done', json: guardrail } },
    errors: ['guardrail_not_found', 'storage_full'],
    recordedAs: 'admin_list_guardrails',
    named: (_, params) => ({ guardrail: refOf(params) }),
    serve: ({ account, params }) => showGuardrail(account, refOf(params)),
  }),
  route({
    ...ofOne,
    method: 'PATCH',
    id: 'updateGuardrail',
    summary: 'Change the given settings of a guardrail',
    body: changes,
    answers: { 200: { description: 'Done', json: guardrail } },
    errors: ['invalid_input', 'guardrail_not_found', 'guardrail_taken', 'write_conflict', 'storage_full'],
    recordedAs: 'update_guardrail',
    named,
    async serve({ account, params, body }) {
      const changed = await updateGuardrail(account, refOf(params), body)
      return shown(changed, await account.read.guardrails.agentsOfTotal(changed.id))
    },
  }),
  route({
    ...ofOne,
    method: 'DELETE',
    id: 'deleteGuardrail',
    summary: 'Delete a guardrail',
    answers: { 200: { description: 'Done', json: z.object({ deleted: z.literal(true), id: z.string() }) } },
    errors: ['guardrail_not_found', 'write_conflict', 'storage_full'],
    recordedAs: 'delete_guardrail',
    named,
    async serve({ account, params }) {
      const { id } = await deleteGuardrail(account, refOf(params))
      return { deleted: true, id }
    },
  }),
]

/** Fails with `guardrail_not_found` if the path cannot be an id or a name. */
function refOf({ guardrail: ref }: Record<string, string>): string {
  if (wellFormed(ref) !== ref) throw guardrailNotFound()
  return ref.trim()
}

/** Records the name, too, because the log cannot look it up after a deletion. */
async function named(account: AccountStore, params: Record<string, string>): Promise<{ id: string; name?: string }> {
  const ref = refOf(params)
  const found = await account.read.guardrails.byRef(ref)
  return found ? { id: found.id, name: found.name } : { id: ref }
}
