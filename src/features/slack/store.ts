/** Channels that are mirrored to Slack. See docs/slack.md, "Slack". */
import type { slackChannels, slackMessages } from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import {
  type AccountDb,
  crossAccountQuery,
  type Db,
  insertedToken,
  query,
  sealedColumns,
  type Statement,
  statement,
} from '../../store/sql.ts'

/** `alias` is the alias of the integration's agent. `name` is the name of the grid's channel. */
export type SlackChannel = Omit<typeof slackChannels.$inferSelect, 'accountId' | 'createdAt'> & {
  alias: string
  name: string
}
export type SlackMessage = Omit<typeof slackMessages.$inferSelect, 'accountId' | 'slackId'>

/** A member of the account with a linked Slack user. The alias is null if they have none in the channel. */
interface SlackPerson {
  role: Role
  agentId: string | null
  alias: string | null
}

const live = (condition: string) =>
  query<SlackChannel>(`
  SELECT slack_channels.id, slack_channels.channel_id, slack_channels.agent_id, slack_channels.slack_channel,
    slack_channels.bot_user, slack_channels.team_id, slack_channels.app_id, slack_channels.encrypted_token, slack_channels.token_iv, slack_channels.token_auth_tag,
    slack_channels.token_key_id, agents.alias, channels.name
  FROM slack_channels
  JOIN agents ON agents.account_id = :account AND agents.id = slack_channels.agent_id AND agents.deleted_at IS NULL
  JOIN channels ON channels.account_id = :account AND channels.id = slack_channels.channel_id
    AND channels.deleted_at IS NULL
  WHERE slack_channels.account_id = :account AND ${condition}`)
const byId = live('slack_channels.id = :slack')
const ofAgent = live('slack_channels.agent_id = :agent')
const ofChannel = live('slack_channels.channel_id = :channel')

const programOf = query<{ agentId: string }>(`
  SELECT agent_id FROM slack_channels
  WHERE account_id = :account AND channel_id = :channel AND agent_id <> :agent`)

const messageColumns = 'ts, thread_ts, message_id, conversation_id'
const ofSlack = 'account_id = :account AND slack_id = :slack'
const byTs = query<SlackMessage>(`SELECT ${messageColumns} FROM slack_messages WHERE ${ofSlack} AND ts = :ts`)
const byMessage = query<SlackMessage>(`
  SELECT ${messageColumns} FROM slack_messages
  WHERE account_id = :account AND message_id = :message AND slack_id = :slack`)
const ofConversation = query<SlackMessage>(`
  SELECT ${messageColumns} FROM slack_messages WHERE ${ofSlack} AND conversation_id = :conversationId
  ORDER BY ts LIMIT 1`)
const person = query<SlackPerson>(`
  SELECT memberships.role, agents.id AS agent_id, agents.alias
  FROM slack_people
  JOIN slack_channels ON slack_channels.account_id = :account AND slack_channels.id = slack_people.slack_id
  JOIN memberships ON memberships.account_id = :account AND memberships.user_id = slack_people.user_id
  LEFT JOIN (person_aliases
    JOIN agents ON agents.account_id = :account AND agents.id = person_aliases.agent_id AND agents.deleted_at IS NULL
    JOIN channel_members ON channel_members.account_id = :account AND channel_members.agent_id = person_aliases.agent_id)
    ON person_aliases.account_id = :account AND person_aliases.user_id = slack_people.user_id
    AND channel_members.channel_id = slack_channels.channel_id
  WHERE slack_people.account_id = :account AND slack_people.slack_id = :slack
    AND slack_people.slack_user = :slackUser`)
const isLinked = query<{ one: number }>(`
  SELECT 1 AS one FROM slack_people WHERE ${ofSlack} AND user_id = :user AND slack_user IS NOT NULL`)

const add = statement(`
  INSERT INTO slack_channels (account_id, id, channel_id, agent_id, slack_channel, bot_user, team_id,
    ${sealedColumns}, created_at)
  VALUES (:account, :slack, :channel, :agent, :slackChannel, :botUser, :teamId, ${insertedToken}, :at)
  ON CONFLICT DO NOTHING`)
const learn = statement(`
  UPDATE slack_channels SET team_id = coalesce(team_id, :team), app_id = coalesce(app_id, :app)
  WHERE account_id = :account AND id = :slack RETURNING team_id, app_id`)
const remove = statement('DELETE FROM slack_channels WHERE account_id = :account AND channel_id = :channel')
const setName = statement(`
  UPDATE channels SET external_integration_type = iif(:externalName IS NULL, NULL, 'slack'),
    external_channel_name = :externalName
  WHERE account_id = :account AND id = :channel`)
// Adds nothing if the message was not stored.
const addMessage = statement(`
  INSERT INTO slack_messages (account_id, slack_id, ts, thread_ts, message_id, conversation_id)
  SELECT account_id, :slack, :ts, :threadTs, id, conversation_id FROM messages
  WHERE account_id = :account AND id = :message
    AND EXISTS (SELECT 1 FROM slack_channels WHERE slack_channels.account_id = :account AND slack_channels.id = :slack)
  ON CONFLICT DO NOTHING`)
const askToLink = statement(`
  INSERT INTO slack_people (account_id, slack_id, user_id, code_hash, expires_at)
  SELECT account_id, id, :user, :hash, :expiresAt FROM slack_channels WHERE account_id = :account AND id = :slack
  ON CONFLICT (account_id, slack_id, user_id) DO UPDATE SET
    code_hash = excluded.code_hash, expires_at = excluded.expires_at`)
const isOpenCode = `${ofSlack} AND code_hash = :hash AND expires_at > :at`
// Unlinks other people from the Slack user, because each Slack user can be linked to only one person.
const unlinkOther = statement(`
  DELETE FROM slack_people WHERE ${ofSlack} AND slack_user = :slackUser AND code_hash IS NOT :hash
    AND EXISTS (SELECT 1 FROM slack_people AS asked WHERE asked.account_id = :account AND asked.slack_id = :slack
      AND asked.code_hash = :hash AND asked.expires_at > :at)`)
const link = statement(`
  UPDATE slack_people SET slack_user = :slackUser, code_hash = NULL WHERE ${isOpenCode}`)
const unlink = statement(`DELETE FROM slack_people WHERE ${ofSlack} AND user_id = :user`)

const accountOf = crossAccountQuery<{ accountId: string }>(
  'account of a Slack channel',
  'SELECT account_id FROM slack_channels WHERE id = :id',
)

export const slackLookUps = (db: Db) => ({
  /** The account of a mirrored channel. */
  accountOf: async (id: string) => (await db.one(accountOf, { id }))?.accountId,
})

export const slackTables = {
  reads: (account: AccountDb) => ({
    byId: (slack: string) => account.one(byId, { slack }),
    ofAgent: (agent: string) => account.one(ofAgent, { agent }),
    ofChannel: (channel: string) => account.one(ofChannel, { channel }),
    /** The agent of a channel's integration. Undefined if it is the given agent. */
    programOf: async (channel: string, agent: string) => (await account.one(programOf, { channel, agent }))?.agentId,
    byTs: (slack: string, ts: string) => account.one(byTs, { slack, ts }),
    byMessage: (slack: string, message: string) => account.one(byMessage, { slack, message }),
    /** A conversation's first message that is in both channels. */
    ofConversation: (slack: string, conversationId: string) => account.one(ofConversation, { slack, conversationId }),
    person: (slack: string, slackUser: string) => account.one(person, { slack, slackUser }),
    isLinked: async (slack: string, user: string) => await account.one(isLinked, { slack, user }) !== undefined,
  }),
  changes: (account: AccountDb) => ({
    /** `externalName` is the channel's name in Slack. */
    connect: (
      { id, channelId, agentId, slackChannel, botUser, teamId }: Pick<
        SlackChannel,
        'id' | 'channelId' | 'agentId' | 'slackChannel' | 'botUser' | 'teamId'
      >,
      secret: SealedToken,
      externalName: string,
      at: number,
    ): Statement[] => [
      account.bind(remove, { channel: channelId }),
      account.bind(add, {
        ...secret,
        slack: id,
        channel: channelId,
        agent: agentId,
        slackChannel,
        botUser,
        teamId,
        at,
      }),
      account.bind(setName, { channel: channelId, externalName }),
    ],
    /** Stores the workspace and app if they are unknown. Returns the stored values. */
    learn: (slack: string, team: string, app: string): Statement => account.bind(learn, { slack, team, app }),
    /** Also removes the channel's linked people and Slack positions. */
    disconnect: (channel: string): Statement[] => [
      account.bind(remove, { channel }),
      account.bind(setName, { channel, externalName: null }),
    ],
    addMessage: (slack: string, { ts, threadTs, messageId }: Omit<SlackMessage, 'conversationId'>): Statement =>
      account.bind(addMessage, { slack, ts, threadTs, message: messageId }),
    /** Stores a link code's hash. Whoever posts the code in Slack by `expiresAt` is linked to the user. */
    askToLink: (slack: string, user: string, hash: string, expiresAt: number): Statement =>
      account.bind(askToLink, { slack, user, hash, expiresAt }),
    link: (slack: string, slackUser: string, hash: string, at: number): Statement[] => [
      account.bind(unlinkOther, { slack, slackUser, hash, at }),
      account.bind(link, { slack, slackUser, hash, at }),
    ],
    unlink: (slack: string, user: string): Statement => account.bind(unlink, { slack, user }),
  }),
}
