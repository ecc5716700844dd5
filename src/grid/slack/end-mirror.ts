/** The end of the mirroring of a channel with Slack. See docs/operating.md, "Slack". */
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import { endAgent } from '../agents/end-agent.ts'

/** Statements that delete the agent of the integration. None if the channel is not mirrored. Messages stay where they are. */
export async function endMirror(account: AccountStore, channelId: string): Promise<Statement[]> {
  const { read, change, deps } = account
  const slack = await read.slack.ofChannel(channelId)
  if (!slack) return []
  const { agentId: id, alias } = slack
  return [...await endAgent(account, { id, alias }, deps.now()), ...change.slack.disconnect(channelId)]
}
