/** Who is at the recipient of a message, as its sender is told. */
import { presenceWord } from '../../presence.ts'
import type { AccountStore } from '../../store/account.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { SentMessage } from '../messaging/outgoing-message.ts'

/** Who is at the recipient: clients from memory, and the server of a remote agent from the receipt. The receipt has nothing about agents of other accounts, nor of a channel. */
export function presenceAt(
  { waiting, deps: { now } }: AccountStore,
  agentId: string | undefined,
  { recipientUnread, recipientSeenAt = null, recipientRemote }: SendReceipt,
): Pick<SentMessage, 'recipientPresence'> {
  if (agentId === undefined || recipientUnread === undefined) return {}
  return { recipientPresence: presenceWord(waiting.presence.at(agentId) ?? recipientRemote, recipientSeenAt, now()) }
}

/** A repeat has the receipt of the first send, and tells who is at the recipient now. */
export async function withPresence(account: AccountStore, sent: SentMessage): Promise<SentMessage> {
  if (sent.recipientUnread === undefined) return sent
  const agent = await account.read.agents.byAlias(sent.recipient.slice(1))
  const recipientRemote = agent?.remote ? JSON.parse(agent.remote) : undefined
  return { ...sent, ...presenceAt(account, agent?.id, { ...sent, recipientRemote }) }
}
