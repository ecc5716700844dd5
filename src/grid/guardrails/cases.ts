/** The cases of a guardrail, for the people of its account, and the texts that they allow as exceptions. */
import { requireAdmin, requirePermission } from '../../auth/actor.ts'
import { invalidInput } from '../../errors.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { CheckedDirection } from '../../store/account/guarding.ts'
import type { VerdictAction } from '../../store/account/verdicts.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { guardrailNotFound } from './list-guardrails.ts'

const maxCases = 100
export const maxExceptions = 1_000
const maxHours = 24 * 92
const hashPattern = /^[0-9a-f]{64}$/

/** A message that a guardrail objected to. Times are milliseconds since the epoch, aliases have no `@`. */
export interface GuardrailCase {
  id: string
  direction: CheckedDirection
  /** If the guardrail gave no answer: `unchecked` for a delivered message, otherwise `failed`. */
  action: VerdictAction
  kinds: string[]
  sender: string
  recipient: string
  /** The agents of the account for which the guardrail checked the message. */
  agents: string[]
  textHash: string
  isAllowed: boolean
  /** The text, if it was blocked less than 7 days ago and the caller is a person who may see it. */
  content?: string
  /** Null if the message was not delivered. */
  messageId: string | null
  createdAt: number
}

/** Returns a guardrail's cases, newest first. Only people see blocked texts, and only if the account permits it. */
export async function listCases(
  account: AccountStore,
  guardrailId: string,
  { before, limit = maxCases }: { before?: string; limit?: number } = {},
): Promise<GuardrailCase[]> {
  requirePermission(account.actor, 'view')
  await requireGuardrail(account, guardrailId)
  const page = Math.max(1, Math.min(limit, maxCases))
  const [found, showsContents] = await Promise.all([
    account.read.verdicts.cases(guardrailId, before ?? '~', page),
    account.read.profile.showsContents(),
  ])
  const isPerson = account.actor.type === 'user'
  return found.map(({ kinds, agents, content, isAllowed, guardrailId: _, guardrail: __, ...row }) => ({
    ...row,
    kinds: JSON.parse(kinds),
    agents: JSON.parse(agents),
    isAllowed: Boolean(isAllowed),
    ...(isPerson && showsContents && content !== null && { content }),
  }))
}

export interface HourlyCount {
  hour: number
  action: VerdictAction
  n: number
}

/** Returns counts of a guardrail's actions per hour, for at most 92 days, without empty hours. */
export async function countCases(
  account: AccountStore,
  guardrailId: string,
  { from, until = account.deps.now() + hour }: { from: number; until?: number },
): Promise<HourlyCount[]> {
  requirePermission(account.actor, 'view')
  await requireGuardrail(account, guardrailId)
  return await account.read.verdicts.counts(guardrailId, Math.max(from, until - maxHours * hour), until)
}

/** Lets exactly one text pass a guardrail from now on. `textHash` belongs to a case. */
export async function allowText(
  account: AccountStore,
  guardrailId: string,
  textHash: string,
): Promise<{ textHash: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    await requireGuardrail(account, guardrailId)
    if (!hashPattern.test(textHash)) {
      throw invalidInput('This is not the SHA-256 of a text.', 'textHash')
    }
    const known = await account.read.verdicts.exceptions(guardrailId, maxExceptions)
    if (known.length >= maxExceptions && !known.some((exception) => exception.textHash === textHash)) {
      throw invalidInput(`A guardrail can have at most ${maxExceptions} exceptions.`, 'textHash')
    }
    const { verdicts, guardrails } = account.change
    await account.write([
      ...precondition,
      guardrails.requireExists(guardrailId),
      verdicts.allow(guardrailId, textHash, account.deps.now()),
      verdicts.requireAtMost(guardrailId, maxExceptions),
    ])
    return { textHash }
  })
}

/** Removes an exception, so that the guardrail checks the text again. Does nothing if there is none. */
export async function disallowText(
  account: AccountStore,
  guardrailId: string,
  textHash: string,
): Promise<{ textHash: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    await requireGuardrail(account, guardrailId)
    await account.write([...precondition, account.change.verdicts.disallow(guardrailId, textHash)])
    return { textHash }
  })
}

/** Returns the texts that a guardrail (by id) lets pass, newest first. Fails with `guardrail_not_found`. */
export async function listExceptions(
  account: AccountStore,
  guardrailId: string,
): Promise<{ textHash: string; createdAt: number }[]> {
  requirePermission(account.actor, 'view')
  await requireGuardrail(account, guardrailId)
  return await account.read.verdicts.exceptions(guardrailId, maxExceptions)
}

async function requireGuardrail(account: AccountStore, id: string): Promise<void> {
  if (!await account.read.guardrails.byId(id)) throw guardrailNotFound()
}
