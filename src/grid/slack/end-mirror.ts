/** The end of the mirroring of a channel with Slack. See docs/operating.md, "Slack". */
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'

/** Statements that delete the agent of the integration. None if the channel is not mirrored. Messages stay where they are. */
export async function endMirror({ read, change, deps }: AccountStore, channelId: string): Promise<Statement[]> {
  const slack = await read.slack.ofChannel(channelId)
  if (!slack) return []
  const { agents, channels, leases } = change
  const at = deps.now()
  return [
    agents.requireLive([slack.agentId]),
    channels.removeAgent(slack.agentId),
    leases.parkUnread(slack.agentId, at),
    ...agents.softDelete(slack.agentId, at),
    ...change.slack.disconnect(channelId),
  ]
}
