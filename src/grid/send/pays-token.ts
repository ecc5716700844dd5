/** Counts a message to another account's remote agent, which is sent with that account's token. */
import { hour, second } from '../../lib/time.ts'
import type { Concern } from '../message/outgoing-message.ts'
import { exceeded } from '../message/quota.ts'

/** How many messages per hour all other accounts together may send to a remote agent with a stored token. */
export const externalPerHour = 60

export const paysToken: Concern = {
  plan({ account: { change, read, deps }, recipient: { spendsToken, id: to, label }, message }) {
    if (!spendsToken) return undefined
    const spent = { to, id: message.id, since: message.at - hour, max: externalPerHour }
    return {
      preconditions: [change.spentTokens.requireRoom(spent)],
      statements: [change.spentTokens.count(to, message)],
      needsMessage: true,
      async explain() {
        const now = deps.now()
        const first = await read.spentTokens.blockedSince({ to, since: now - hour, max: externalPerHour })
        if (first === undefined) return
        const what =
          `Agents of other accounts have sent ${externalPerHour} messages to ${label} in the last hour, its limit.`
        throw exceeded('external_messages_per_hour', externalPerHour, Math.ceil((first + hour - now) / second), what)
      },
    }
  },
}
