/** Notifies owners of paused conversations. See docs/conversations.md, "Conversations that run away". */
import { recordPauses } from '../grid/messaging/turns.ts'
import { conversationsPausedEmail } from '../grid/people/email-templates.ts'
import { sendNotice } from '../grid/people/send-email.ts'
import { takePauseAttempt } from '../grid/people/throttle.ts'
import type { Store } from '../store/store.ts'

const accountsAtATime = 100

/**
 * Writes activity log rows and sends one email for each account whose owners have not been notified of pauses, at most
 * once an hour. Safe to run in several processes, because only the process that takes the attempt notifies the owners.
 */
export async function notifyOfPauses(store: Store): Promise<void> {
  for (const accountId of await store.global.turns.withUnnotified(accountsAtATime)) {
    try {
      if (await takePauseAttempt(store, accountId)) await notifyOwners(store, accountId)
    } catch (error) {
      store.deps.log.warn('The owners were not notified that conversations are paused', { error, account: accountId })
    }
  }
}

async function notifyOwners(store: Store, accountId: string): Promise<void> {
  const account = store.account(accountId, { type: 'system', job: 'pause-conversation' })
  const paused = await recordPauses(account)
  if (paused.length === 0) return
  const name = (await store.global.accounts.byId(accountId))?.name ?? ''
  const notice = conversationsPausedEmail(store.deps.config, name, paused.map(({ agents }) => agents))
  for (const { email, role } of await account.read.team.members()) {
    if (role === 'owner') sendNotice(store, email, notice)
  }
}
