/** The trial of an agent that signed up by itself: a number of messages, and a time. See docs/protocol.md, "Signup". */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { NewMessage } from '../../store/account/new-message.ts'
import type { Sender } from './outgoing-message.ts'
import type { SendPart } from './send-part.ts'

/** Counts a message on the trial of its sender. The statement that stores the message checks it. */
export function trialPart(account: AccountStore, sender: Sender, message: NewMessage): SendPart {
  if (sender.isUnlimited) return {}
  return {
    statements: [account.change.messages.countTrial(message)],
    refuse: () => refuseEndedTrial(account, sender),
  }
}

async function refuseEndedTrial(account: AccountStore, sender: Sender): Promise<void> {
  const trial = await account.read.agents.trial(sender.agentId)
  if (!trial) return
  const at = account.deps.now()
  const hasExpired = trial.expiresAt <= at
  if (trial.used < trial.max && !hasExpired && trial.endedAt === null) return
  if (hasExpired && trial.endedAt === null) account.writeLater([account.change.agents.endTrials(at, at)])
  throw new GridError(
    'trial_expired',
    `The trial of this agent has ended (${trial.used} of ${trial.max} messages sent). Its owner can claim the agent with the link from the signup.`,
  )
}
