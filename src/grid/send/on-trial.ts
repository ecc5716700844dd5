/** Counts a message against its sender's trial. The statement that stores the message checks the limit. */
import { GridError } from '../../errors.ts'
import type { Concern, Send } from '../message/outgoing-message.ts'

export const onTrial: Concern = {
  plan: (send) =>
    send.sender.isUnlimited ? undefined : {
      statements: [send.account.change.messages.countTrial(send.message)],
      explain: () => refuseEndedTrial(send),
    },
}

async function refuseEndedTrial({ account, sender }: Send): Promise<void> {
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
