/** Messages of which people are notified although they are not their recipients. See docs/web.md, "Notifications". */
import { mayRead, placeOf, readerFor } from '../../grid/conversations/may-read.ts'
import { namedAliases } from '../../aliases.ts'
import type { AccountStore } from '../../store/account.ts'
import { notificationTables } from './store.ts'

/** The newest message of a conversation, of which a person is notified. Never its text. */
interface News {
  /** The number and the sender of the message. */
  seq: number
  alias: string
  /** The action of the sender, such as `posted in #general`. */
  did: string
}

/** Messages that the user may read and has not seen, newest first: of all conversations, or of one. */
export async function newsOf(
  account: AccountStore,
  userId: string,
  which: { thread?: number; after?: number },
): Promise<News[]> {
  const found = await account.feature(notificationTables).read.news(userId, which)
  const reader = found.length > 0 ? await readerFor(account, userId) : undefined
  const { personAlias } = reader ?? {}
  if (!reader || !personAlias) return []
  return found
    .filter(({ channelId, agents, at }) =>
      mayRead(reader, placeOf(reader, { channelId, agents: JSON.parse(agents) }), at)
    )
    .map(({ seq, alias, channel, text }) => ({
      seq,
      alias,
      did: `${namedAliases(text).includes(personAlias.alias) ? 'named you' : 'posted'} in ${
        channel === null ? 'a conversation' : `#${channel}`
      }`,
    }))
}
