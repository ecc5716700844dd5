/** Deletes an agent, for admins, people, claims and Slack. See docs/delivery.md, "Parked messages". */
import { newId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'

interface EndingAgent {
  id: string
  alias: string
  isPerson?: boolean
}

/**
 * Returns statements that soft-delete an agent: its keys are revoked, its memberships removed, its unread messages
 * parked, and their senders notified. They fail the unit if the agent is already deleted, or a new sender has written.
 */
export async function endAgent(account: AccountStore, agent: EndingAgent, at: number): Promise<Statement[]> {
  const { agents, channels, endings, keys, leases, reservations } = account.change
  const { id, alias, isPerson = false } = agent
  const end = isPerson ? 'left' : 'was deleted'
  const notices = (await account.read.endings.unreadSenders(id)).map(({ agentId, messages, seq }) => {
    const what = messages === 1 ? 'your message' : `your last ${messages.toLocaleString('en')} messages`
    return { id: newId(), sender: agentId, seq, body: `@${alias} ${end} before reading ${what}.` }
  })
  return [
    agents.requireLive([id]),
    keys.revokeOfAgent(id, at),
    channels.removeAgent(id),
    ...endings.notifySenders(id, notices, at),
    leases.parkUnread(id, at),
    reservations.endOfAgent(id, at),
    ...agents.softDelete(id, at),
  ]
}
