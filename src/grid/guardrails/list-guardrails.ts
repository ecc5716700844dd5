/** Guardrails as admin tools and the REST endpoint show them. See docs/protocol/guardrails.md, "Guardrails". */
import { requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { readPage } from '../../lib/read-page.ts'
import { isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { FoundGuardrail, Guardrail } from '../../store/account/guardrails.ts'

/** How many guardrails one page has: the default, and the maximum. */
export const maxListed = 10_000
export const listBytes = 1_000_000
const chunk = 20

interface ShownGuardrail extends Omit<Guardrail, 'host' | 'createdAt'> {
  agentCount: number
  createdAt: string
}

/** Returns a page of the guardrails of the account, sorted by name. See docs/protocol/mcp.md, "list_agents". */
export async function listGuardrails(
  account: AccountStore,
  { limit = maxListed, cursor }: { limit?: number; cursor?: string },
): Promise<{ guardrails: ShownGuardrail[]; total: number; next_cursor?: string }> {
  requireAdmin(account.actor)
  const { guardrails } = account.read
  const source = {
    read: guardrails.page,
    // Pages continue after the stored name, which may differ from the shown one.
    keyOf: ({ name }: Guardrail) => name,
    entryOf: (row: Guardrail & { agentCount: number }) => shown(row, row.agentCount),
  }
  const [{ entries, cursor: next }, total] = await Promise.all([
    readPage(source, cursor, { entries: limit, bytes: listBytes, chunk }),
    guardrails.searchTotal(''),
  ])
  return { guardrails: entries, total, ...(next !== undefined && { next_cursor: next }) }
}

export async function showGuardrail(account: AccountStore, ref: string): Promise<ShownGuardrail> {
  requireAdmin(account.actor)
  const guardrail = await findGuardrail(account, ref)
  return shown(guardrail, await account.read.guardrails.agentsOfTotal(guardrail.id))
}

/** Returns a guardrail by its name or id. Fails with `guardrail_not_found`. */
export async function findGuardrail(account: AccountStore, ref: string): Promise<FoundGuardrail> {
  const guardrail = await account.read.guardrails.byRef(ref.trim())
  if (!guardrail) throw guardrailNotFound()
  return guardrail
}

/** Returns a guardrail as it is shown. Cleans its name, because older versions stored invisible characters. */
export function shown(
  { id, name, provider, config, action, onFailure, enabled, createdAt }: Guardrail,
  agentCount: number,
): ShownGuardrail {
  return {
    id,
    name: withoutInvisible(name),
    provider,
    config,
    action,
    onFailure,
    enabled,
    agentCount,
    createdAt: isoTime(createdAt),
  }
}

export function guardrailNotFound(): GridError {
  return new GridError('guardrail_not_found', 'There is no such guardrail, or it was deleted.')
}
