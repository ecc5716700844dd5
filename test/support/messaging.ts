/** Sends as the agent of an account store, as every endpoint does. */
import { callingAgent } from '../../src/auth/actor.ts'
import type { SendInput, SentMessage } from '../../src/grid/message/outgoing-message.ts'
import { sendMessage as send } from '../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../src/store/account.ts'

export async function sendMessage(account: AccountStore, input: SendInput): Promise<SentMessage> {
  return await send(account, callingAgent(account.actor), input)
}
