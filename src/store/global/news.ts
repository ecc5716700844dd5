/**
 * Messages that people are told of although they are not to them: they name the person as `@alias`, or are posts of a
 * channel that the person follows. See docs/delivery.md, "Notifications".
 */
import { agentOf } from '../account/inbox-message.ts'
import { hour } from '../../lib/time.ts'
import { crossAccountStatement, type Db, type Statement } from '../sql.ts'
import { elseLater } from './notifications.ts'

/** A browser is told of the news of a conversation at most once in this time. What is older is no news. */
export const newsMs = hour

const isPosition = `(SELECT projections.seq FROM projections WHERE projections.name = 'search') = :after`
const ofPeople = crossAccountStatement(
  'news of new messages',
  `
  INSERT INTO thread_seen (account_id, user_id, thread_id, seq, news_seq)
  SELECT place.account_id, person_aliases.user_id, place.thread_id, 0, max(place.seq)
  FROM (
    SELECT m.seq, agents.id AS agent_id
    FROM json_each(:rows) AS one CROSS JOIN messages AS m CROSS JOIN json_each(one.value, '$[1]') AS named
    CROSS JOIN agents
    WHERE m.seq = (one.value ->> 0) AND agents.account_id = m.account_id AND agents.alias = named.value
      AND agents.deleted_at IS NULL
    UNION
    SELECT m.seq, member.agent_id
    FROM json_each(:rows) AS one CROSS JOIN messages AS m CROSS JOIN channel_members AS member
    WHERE m.seq = (one.value ->> 0) AND member.account_id = m.account_id AND member.channel_id = m.channel_id
      AND member.follows) AS told
  CROSS JOIN messages AS m CROSS JOIN person_aliases CROSS JOIN thread_messages AS place
  WHERE m.seq = told.seq AND m.created_at > :since AND m.from_agent_id <> told.agent_id
    AND person_aliases.account_id = m.account_id AND person_aliases.agent_id = told.agent_id
    AND place.account_id = m.account_id AND place.seq = m.seq
    AND (m.channel_id IS NOT NULL OR NOT EXISTS (SELECT 1 FROM deliveries AS d WHERE d.seq = m.seq AND ${
    agentOf('d')
  } = told.agent_id))
    AND ${isPosition}
  GROUP BY place.account_id, person_aliases.user_id, place.thread_id
  ON CONFLICT (account_id, user_id, thread_id) DO UPDATE SET news_seq = max(thread_seen.news_seq, excluded.news_seq)`,
)
const ofBrowsers = crossAccountStatement(
  'news of new messages',
  `
  INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at)
  SELECT sub.account_id, sub.id, seen.thread_id, 'news', max(seen.news_seq), max(seen.news_seq), :dueAt
  FROM json_each(:rows) AS one CROSS JOIN messages AS m CROSS JOIN thread_messages AS place
  CROSS JOIN thread_seen AS seen CROSS JOIN push_subscriptions AS sub
  WHERE m.seq = (one.value ->> 0) AND place.account_id = m.account_id AND place.seq = m.seq
    AND seen.account_id = place.account_id AND seen.thread_id = place.thread_id AND seen.news_seq = place.seq
    AND sub.account_id = seen.account_id AND sub.user_id = seen.user_id AND m.created_at > :since
    AND ${isPosition}
  GROUP BY sub.account_id, sub.id, seen.thread_id
  ${elseLater(String(newsMs))}
  WHERE excluded.last_seq > push_notices.last_seq`,
)

/** A message that may be news: the aliases that it names, and the id of its channel. */
export interface PossibleNews {
  seq: number
  names: readonly string[]
  channelId: string | null
}

/**
 * Note whom these messages are news for, and tell their browsers after `quietMs`. Part of the unit that moves the
 * projection `search` on from `after`. No statements for messages that name no one and are in no channel.
 */
export function noteNews(
  db: Db,
  messages: readonly PossibleNews[],
  { after, at, quietMs }: { after: number; at: number; quietMs: number },
): Statement[] {
  const possible = messages.filter(({ names, channelId }) => names.length > 0 || channelId !== null)
  if (possible.length === 0) return []
  const values = {
    rows: JSON.stringify(possible.map(({ seq, names }) => [seq, names])),
    after,
    since: at - newsMs,
  }
  return [
    { ...db.bind(ofPeople, values), rows: possible.length, isTraffic: true },
    { ...db.bind(ofBrowsers, { ...values, dueAt: at + quietMs }), rows: possible.length, isTraffic: true },
  ]
}
