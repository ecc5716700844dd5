/** What becomes of a hand-out: its answer is handed over, or it is given back; what cannot be shown is parked. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Mail } from '../../store/account/inbox-message.ts'

/** A message that cannot be shown, and why. */
export interface Damaged {
  mail: Mail
  error: unknown
}

/** Set messages of a hand-out aside: unread again they would come again for ever. Never fails. Reliability 2.1. */
export async function park(account: AccountStore, batch: string, damaged: Damaged[]): Promise<void> {
  const { actor, deps: { log, now }, change } = account
  for (const { mail, error } of damaged) {
    // What the error says may quote the message.
    const fault = error instanceof Error ? error.name : typeof error
    log.error('A message that cannot be shown is parked', { messageId: mail.id, fault })
  }
  const seqs = damaged.map(({ mail }) => mail.seq)
  try {
    await account.write([change.handOuts.parkOf(callingAgent(actor).agentId, batch, seqs, now())])
  } catch (error) {
    // It counts as read, and the next reading of the batch leaves it out again.
    log.warn('A message that cannot be shown was not parked', { error })
  }
}

/** The answer that holds a hand-out is on its way: it is not given back any more. Costs no commit. */
export function handedOver(account: AccountStore, handOut: string): void {
  account.later([account.change.handOuts.close(handOut)])
}

/**
 * Put a hand-out back that reached nobody: its messages are unread again and come flagged `redelivered`.
 * Never fails: when the database does not accept it, it is done later, at the latest when the next process starts.
 * Reliability 2.2.3.
 */
export async function giveBack(account: AccountStore, handOut: string): Promise<void> {
  await putBack(account, callingAgent(account.actor).agentId, handOut)
}

/**
 * Fail as the hand-out did. Of a database that did not answer nobody knows whether it made the hand-out, so it is given
 * back when it answers again.
 */
export function giveBackUnknown(account: AccountStore, handOut: string, error: unknown): never {
  if (!(error instanceof GridError) || !error.details.nothingDone) {
    account.later(account.change.handOuts.giveBack(callingAgent(account.actor).agentId, handOut, account.deps.now()))
  }
  throw error
}

/** `giveBack` for the process that made the hand-out and died. Fails with `wrong_credential`. Reliability 2.2.4. */
export async function giveBackOf(account: AccountStore, agentId: string, handOut: string): Promise<void> {
  requireAdmin(account.actor)
  await putBack(account, agentId, handOut)
}

async function putBack(account: AccountStore, agentId: string, handOut: string): Promise<void> {
  const { change, deps: { log, now }, waiting } = account
  const statements = change.handOuts.giveBack(agentId, handOut, now())
  try {
    await account.write(statements)
    waiting.wakes.wake([agentId])
  } catch (error) {
    log.warn('A hand-out that reached nobody is given back later', { error, handOut })
    account.later(statements)
  }
}
