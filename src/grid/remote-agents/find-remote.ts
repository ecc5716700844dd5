/** A remote agent's address and card. */
import { hour } from '../../lib/time.ts'
import { readCard, type RemoteAddress, type RemoteCard } from '../../remote/card.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import type { RemoteAgentRow } from '../../store/account/remote-agents.ts'
import type { Attempt } from '../outboxes/attempt.ts'

const cardLifetimeMs = hour

/** Returns the agent's address, with its token. */
export async function addressOf(account: AccountStore, agentId: string, row: RemoteAgentRow): Promise<RemoteAddress> {
  const { remoteUrl: url, encryptedToken, tokenIv, tokenAuthTag, tokenKeyId } = row
  if (encryptedToken === null) return { url }
  const sealed = { encryptedToken, tokenIv: tokenIv!, tokenAuthTag: tokenAuthTag!, tokenKeyId: tokenKeyId! }
  return { url, token: await account.open('agents', agentId, sealed) }
}

/** Returns a `safeStream` whose requests are aborted together with the attempt. */
export function streamOf({ account: { deps, trace: { spans } }, signal }: Attempt): typeof deps.safeStream {
  return (url, init) => deps.safeStream(url, { ...init, signal, spans, passesTrace: true })
}

/** Returns the agent's address and its card, which is fetched again after an hour. */
export async function findRemote(
  attempt: Attempt,
): Promise<{ address: RemoteAddress; card: RemoteCard } & Pick<RemoteAgentRow, 'callbackSecret' | 'answerMs'>> {
  const { account } = attempt
  const { actor: { agentId }, read, change: { remoteAgents }, deps, write } = account
  const row = await read.remoteAgents.byId(agentId)
  if (!row) throw new RemoteRefusal('It no longer has an address.')
  if (row.transport !== null) {
    throw new RemoteRefusal(`It is reached through "${row.transport}", and does not speak A2A.`)
  }
  const { callbackSecret, answerMs } = row
  const address = await addressOf(account, agentId, row)
  const kept: RemoteCard | undefined = row.card === null ? undefined : JSON.parse(row.card)
  if (kept && deps.now() - row.cardAt! < cardLifetimeMs) return { address, card: kept, callbackSecret, answerMs }
  try {
    const card = await readCard(streamOf(attempt), address)
    await write([remoteAgents.putCard(agentId, JSON.stringify(card), deps.now())])
    return { address, card, callbackSecret, answerMs }
  } catch (error) {
    // The agent may work although its card is temporarily unreachable.
    if (kept && !(error instanceof RemoteRefusal)) return { address, card: kept, callbackSecret, answerMs }
    throw error
  }
}
