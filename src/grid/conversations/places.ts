/** Where threads and messages are, as `placeOf` tells places apart. */
import { type Place, placeOf, type Reader } from './may-read.ts'
import type { Receipts, ThreadMessage } from './messages.ts'
import type { Thread } from './threads.ts'

/** The place of what is said in a thread. In a conversation with an id, single messages may be the reader's own. */
export function placeOfThread(
  reader: Reader,
  { kind, channel, agents }: Pick<Thread, 'kind' | 'channel' | 'agents'>,
): Place {
  const ends = kind === 'pair' ? agents.map(({ id }) => id) : []
  return placeOf(reader, { channelId: channel?.id ?? null, agents: ends })
}

/** The place of one message. Its recipient is known by its receipt, because an alias can change. */
export function placeOfMessage(
  reader: Reader,
  { fromAgentId }: ThreadMessage,
  { channel }: Pick<Thread, 'channel'>,
  receipts: Receipts | undefined,
): Place {
  return placeOf(reader, {
    channelId: channel?.id ?? null,
    agents: [fromAgentId, receipts?.recipient?.agentId ?? null],
  })
}
