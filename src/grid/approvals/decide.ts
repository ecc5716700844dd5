/** Approving and refusing held messages. See docs/protocol/messages.md, "Held messages". */
import { type Actor, callingUser, requireConfirmed } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import { isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { type Delivered, deliverHeld, givenOf } from './deliver-held.ts'
import { endHeld } from './end-held.ts'
import { findHeld, type FoundHeld } from './held.ts'

const maxReasonLength = 1_000

interface Choice {
  id: string
  /** The hash of the `HeldMessage` that the person saw. */
  hash: string
}

export type Decision = Delivered | { state: 'refused'; reason: string }

/** Permanent errors. If the delivery of an approved message fails with one of them, the message is refused. */
const lasting: readonly GridError['code'][] = [
  'recipient_not_found',
  'channel_not_found',
  'not_channel_member',
  'agent_not_found',
  'conversation_paused',
  'task_not_found',
  'unsupported_operation',
]

/**
 * Delivers a held message, with `text` as its new text if given. Guardrails check it again. If it can no longer be
 * delivered, it is refused, and the reason is returned. `held` means that the recipient's people must now decide.
 *
 * Fails with `wrong_credential`, `message_not_found`, `already_decided`, `confirmation_required`, `invalid_input`,
 * `message_too_long`, and, while it stays held, with `guardrail_blocked`, `guardrail_unavailable` or `quota_exceeded`.
 */
export async function approve(
  account: AccountStore,
  { text, ...choice }: Choice & { text?: string },
): Promise<Decision> {
  return await retryOnConflict(async () => {
    const found = await decidable(account, choice)
    const by = await decider(account)
    const at = account.deps.now()
    // Sending only the beginning of a long text is an edit that drops the rest.
    const edited = text !== undefined && text !== givenOf(found.content).text
    try {
      const decided = { ...by, state: 'approved' as const, reason: null, edited, at }
      return await deliverHeld(account, found, decided, edited ? text : undefined)
    } catch (error) {
      if (!(error instanceof GridError) || !lasting.includes(error.code)) throw error
      const reason = error.message
      await endHeld(account, found.held, { ...by, state: 'refused', reason, edited: false, at })
      return { state: 'refused', reason }
    }
  })
}

/** Refuses a held message. Its sender gets the reason. Fails as `approve` does. */
export async function refuse(
  account: AccountStore,
  { reason: given, ...choice }: Choice & { reason: string },
): Promise<Decision> {
  const reason = withoutInvisible(wellFormed(given) ?? '').trim()
  if (reason === '') throw invalidInput('Give a reason, so that the sender knows what to do.', 'reason')
  if (!hasAtMost(reason, maxReasonLength)) {
    throw invalidInput(`A reason can have at most ${maxReasonLength} characters.`, 'reason')
  }
  return await retryOnConflict(async () => {
    const { held } = await decidable(account, choice)
    const by = await decider(account)
    await endHeld(account, held, { ...by, state: 'refused', reason, edited: false, at: account.deps.now() })
    return { state: 'refused', reason }
  })
}

async function decidable(account: AccountStore, { id, hash }: Choice): Promise<FoundHeld> {
  const found = await findHeld(account, id)
  const { held } = found
  if (held.state !== 'held' || held.expiresAt <= account.deps.now()) throw decidedAlready(held, account.actor)
  if (!held.mayDecide) throw new GridError('message_not_found', 'No message with this id waits for you.')
  if (hash !== found.hash) throw invalidInput('The text has changed. Read it again.', 'hash')
  if (held.rule.isRisky) requireConfirmed(account.actor, account.deps.now())
  return found
}

function decidedAlready({ state, decider, decidedAt, decidedBy }: FoundHeld['held'], actor: Actor): GridError {
  const who = decidedBy === callingUser(actor).userId ? 'You' : decider ?? 'Another person'
  const when = decidedAt === null ? '' : ` at ${isoTime(decidedAt)}`
  if (state === 'approved') return new GridError('already_decided', `${who} approved this message${when}.`)
  if (state === 'refused') return new GridError('already_decided', `${who} refused this message${when}.`)
  if (state === 'joined') {
    return new GridError('already_decided', 'Its sender has added to this message. Open the newer one.')
  }
  const what = state === 'retracted' ? 'Its sender has retracted this message.' : 'The time to decide has expired.'
  return new GridError('already_decided', what)
}

async function decider(account: AccountStore): Promise<{ user: string; decider: string }> {
  const { userId } = callingUser(account.actor)
  const personAlias = await account.read.personAliases.ofMember(userId)
  if (personAlias) return { user: userId, decider: `@${personAlias.alias}` }
  const member = await account.read.team.member(userId)
  return { user: userId, decider: member?.name || member?.email || 'A member' }
}
