/** Approval rules and decisions in a test grid. */
import { approve, refuse } from '../../src/grid/approvals/decide.ts'
import { heldMessage, heldMessages } from '../../src/grid/approvals/held.ts'
import { GridError } from '../../src/errors.ts'
import { newId } from '../../src/lib/id.ts'
import { day } from '../../src/lib/time.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { ApprovalRule } from '../../src/store/account/approval-rules.ts'

/** Stores an approval rule. By default it holds all messages that agents send, for the account's owners to decide. */
export async function hold({ change, deps, write }: AccountStore, more: Partial<ApprovalRule> = {}): Promise<void> {
  const at = deps.now()
  const id = newId()
  await write([change.approvalRules.add({
    ...{ id, name: `rule ${id}`, fromKind: 'any', fromId: null, toKind: 'any', toId: null, condition: 'always' },
    ...{ guardrailId: null, mediaType: null, minBytes: null, deciders: [], expiresMs: day, enabled: true },
    ...{ isRisky: false, createdAt: at, updatedAt: at, ...more },
  })])
}

/** Returns the only held message. */
export async function waiting(account: AccountStore) {
  const held = await heldMessages(account)
  if (held.length !== 1) throw new Error(`${held.length} messages wait`)
  return await heldMessage(account, held[0].id)
}

export async function approveOne(account: AccountStore, text?: string) {
  const { id, hash } = await waiting(account)
  return await approve(account, { id, hash, text })
}

export async function refuseOne(account: AccountStore, reason: string) {
  const { id, hash } = await waiting(account)
  return await refuse(account, { id, hash, reason })
}

/** Decides on the oldest held message, unless a concurrent decision is faster. Returns false if no message is held. */
export async function decideOldest(account: AccountStore, n: number): Promise<boolean> {
  const [oldest] = await heldMessages(account)
  if (!oldest) return false
  try {
    const { id, hash, body } = await heldMessage(account, oldest.id)
    if (n % 3 === 0) await refuse(account, { id, hash, reason: 'No' })
    else await approve(account, { id, hash, text: n % 5 === 0 ? `${body} edited` : undefined })
  } catch (error) {
    const isLate = error instanceof GridError &&
      ['already_decided', 'message_not_found', 'write_conflict', 'unavailable'].includes(error.code)
    if (!isLate) throw error
  }
  return true
}
