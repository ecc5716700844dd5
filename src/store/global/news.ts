/**
 * Messages of which people are notified without being recipients. They mention the person as `@alias`, or are posts in
 * a channel that the person follows. See docs/web.md, "Notifications".
 */
import { agentOf } from '../account/inbox-message.ts'
import { hour } from '../../lib/time.ts'
import { crossAccountStatement, type Db, type Statement } from '../sql.ts'
import { isAtPosition } from './pulse.ts'

/** People are not notified of older messages. */
const newsMs = hour

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
    AND ${isAtPosition}
  GROUP BY place.account_id, person_aliases.user_id, place.thread_id
  ON CONFLICT (account_id, user_id, thread_id) DO UPDATE SET news_seq = max(thread_seen.news_seq, excluded.news_seq)`,
)
/** A message that may notify people, with the aliases that it mentions and its channel's id. */
export interface PossibleNews {
  seq: number
  names: readonly string[]
  channelId: string | null
}

/** Whether a message may notify people: it mentions an alias, or is in a channel. */
export function isPossibleNews({ names, channelId }: PossibleNews): boolean {
  return names.length > 0 || channelId !== null
}

/** Records whom these messages notify. Part of the unit that advances the follower `search` from `after`. */
export function noteNews(
  db: Db,
  possible: readonly PossibleNews[],
  { after, at }: { after: number; at: number },
): Statement {
  const rows = JSON.stringify(possible.map(({ seq, names }) => [seq, names]))
  return {
    ...db.bind(ofPeople, { rows, after, follower: 'search', since: at - newsMs }),
    rows: possible.length,
    isTraffic: true,
  }
}
