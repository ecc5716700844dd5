/** Tells the owners of conversations that were paused. See docs/delivery.md, "Conversations that run away". */
import { GridError } from '../errors.ts'
import { recordPause } from '../grid/messaging/conversations.ts'
import { sendConversationPausedEmail } from '../grid/people/send-email.ts'
import type { Store } from '../store/store.ts'

/** Write a row of the activity log and send an email for each pause. Several processes may do this at the same time. */
export async function tellOfPauses(store: Store): Promise<void> {
  for (const { accountId, id } of await store.global.conversations.untold()) {
    try {
      await tellOwners(store, accountId, id)
    } catch (error) {
      // Another process was faster.
      if (error instanceof GridError && error.code === 'write_conflict') continue
      store.deps.log.warn('The owners were not told that a conversation is paused', { error, account: accountId })
    }
  }
}

async function tellOwners(store: Store, accountId: string, id: string): Promise<void> {
  const account = store.account(accountId, { type: 'system', job: 'pause-conversation' })
  const agents = await recordPause(account, id)
  if (!agents) return
  const name = (await store.global.accounts.byId(accountId))?.name ?? ''
  for (const { email, role } of await account.read.team.members()) {
    if (role === 'owner') sendConversationPausedEmail(store, email, name, agents)
  }
}
