/** Finds messages that people are notified of although they are not recipients. See docs/web.md, "Notifications". */
import { mayRead, placeOf, readerFor } from '../../grid/conversations/may-read.ts'
import { namedAliases } from '../../aliases.ts'
import type { AccountStore } from '../../store/account.ts'
import { notificationTables } from './store.ts'

/** The newest message of a conversation, as reported to a person who is not a recipient. It never contains the text. */
interface News {
  /** The message's number and sender. */
  seq: number
  alias: string
  /** What the sender did, such as `posted in #general`. */
  did: string
}

/** Returns unseen messages that the user may read, newest first. `thread` selects one conversation; default: all. */
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
