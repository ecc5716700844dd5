/**
 * Every table of the grid.
 *
 * Account tables carry `account_id` in their key and in every foreign key, so
 * that SQLite itself refuses a row that points into another account. Times are
 * milliseconds since the epoch, ids are UUIDv7 text, aliases are stored bare.
 */
import { sql } from 'drizzle-orm'
import { foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

const flag = (name: string) => integer(name, { mode: 'boolean' })

/** One value per key: `epoch` names this history of the store (reliability: cursors carry it). */
export const storeFacts = sqliteTable('store_facts', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
})

/**
 * The tenants. A provisional account was opened by a signup and belongs to nobody yet; of a merged one the agents
 * went to another account of its owner.
 */
export const accounts = sqliteTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  state: text('state', { enum: ['provisional', 'claimed', 'merged'] }).notNull(),
  /** The normalised address whose further signups land here; null once closed to them. */
  joinEmail: text('join_email'),
  createdAt: integer('created_at').notNull(),
  claimedAt: integer('claimed_at'),
}, (t) => [uniqueIndex('accounts_join_email').on(t.joinEmail)])

export const users = sqliteTable('users', {
  id: text('id').primaryKey(),
  email: text('email').notNull(),
  name: text('name').notNull().default(''),
  /** PHC string; null for people who sign in by a mailed link alone. */
  passwordHash: text('password_hash'),
  emailVerifiedAt: integer('email_verified_at'),
  createdAt: integer('created_at').notNull(),
}, (t) => [uniqueIndex('users_email').on(t.email)])

export const memberships = sqliteTable('memberships', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  role: text('role', { enum: ['owner', 'admin', 'member', 'viewer'] }).notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.userId] }), index('memberships_user').on(t.userId)])

/** Who is signed in, in which browser. The cookie holds the session's token; here is its SHA-256. */
export const sessions = sqliteTable('sessions', {
  id: text('id').primaryKey(),
  userId: text('user_id').notNull().references(() => users.id),
  tokenHash: text('token_hash').notNull(),
  createdAt: integer('created_at').notNull(),
  lastSeenAt: integer('last_seen_at').notNull(),
  /** The absolute end; an idle session ends earlier. */
  expiresAt: integer('expires_at').notNull(),
  endedAt: integer('ended_at'),
  /** What people recognise it by: the browser, as it names itself, and where it signed in from. */
  userAgent: text('user_agent').notNull().default(''),
  address: text('address').notNull().default(''),
}, (t) => [
  uniqueIndex('sessions_token').on(t.tokenHash),
  index('sessions_user').on(t.userId),
  index('sessions_expire').on(t.expiresAt),
])

/** One-time links. All but `set_up` prove the mailbox they were sent to. */
export const links = sqliteTable('links', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['set_up', 'sign_in', 'verify', 'reset', 'change_email', 'claim'] }).notNull(),
  tokenHash: text('token_hash').notNull(),
  /** Whose it is; null for `set_up`, which makes the first user. */
  userId: text('user_id').references(() => users.id),
  /** The mailbox it was sent to, normalised; null for `set_up`. */
  email: text('email'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
}, (t) => [
  uniqueIndex('links_token').on(t.tokenHash),
  index('links_user').on(t.userId, t.kind),
  index('links_expire').on(t.expiresAt),
])

/** People asked into an account. Only a user whose proved mailbox is `email` can accept. */
export const invitations = sqliteTable('invitations', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  email: text('email').notNull(),
  role: text('role', { enum: ['owner', 'admin', 'member', 'viewer'] }).notNull(),
  tokenHash: text('token_hash').notNull(),
  invitedBy: text('invited_by').notNull().references(() => users.id),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  acceptedAt: integer('accepted_at'),
  /** Withdrawn, or replaced by a newer one for the same address. */
  endedAt: integer('ended_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('invitations_token').on(t.tokenHash),
  index('invitations_expire').on(t.expiresAt),
])

/** Agents that registered themselves: when, from where, for whom, and the claim link they were given. */
export const signups = sqliteTable('signups', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  /** Normalised; nobody has proved it yet. */
  ownerEmail: text('owner_email').notNull(),
  /** The client's address as counted by the limits: IPv4, or the /64 of IPv6. */
  address: text('address').notNull(),
  claimTokenHash: text('claim_token_hash').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('signups_claim_token').on(t.claimTokenHash),
  index('signups_address').on(t.address, t.createdAt),
])

export const agents = sqliteTable('agents', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  /** Unique over all accounts, for ever: a deleted agent's alias stays reserved for its account. */
  alias: text('alias').notNull(),
  type: text('type', { enum: ['mcp', 'a2a', 'human'] }).notNull(),
  visibility: text('visibility', { enum: ['private', 'public'] }).notNull(),
  accessPolicy: text('access_policy', { enum: ['auto_approve', 'allow_list', 'block_list'] }).notNull(),
  description: text('description').notNull().default(''),
  remoteUrl: text('remote_url'),
  /** What the remote agent wants as bearer token: AES-256-GCM, never answered. */
  encryptedToken: text('encrypted_token'),
  tokenIv: text('token_iv'),
  tokenAuthTag: text('token_auth_tag'),
  tokenKeyId: text('token_key_id'),
  /** The signup that made it; null when a person or a script of the account did. */
  signupId: text('signup_id'),
  createdAt: integer('created_at').notNull(),
  deletedAt: integer('deleted_at'),
  lastSeenAt: integer('last_seen_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.signupId], foreignColumns: [signups.accountId, signups.id] }),
  // A live alias is unique; its account may create the agent anew after deletion.
  uniqueIndex('agents_live_alias').on(t.alias).where(sql`deleted_at IS NULL`),
  index('agents_alias').on(t.alias),
  index('agents_of_account').on(t.accountId, t.alias).where(sql`deleted_at IS NULL`),
  index('agents_public').on(t.alias).where(sql`visibility = 'public' AND deleted_at IS NULL`),
])

/** Who of other accounts may (`allow_list`) or may not (`block_list`) write to a public agent. */
export const agentAccess = sqliteTable('agent_access', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  alias: text('alias').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.alias] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** The allowance of an agent that signed up by itself; no row means no limit. */
export const trials = sqliteTable('trials', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  used: integer('used').notNull().default(0),
  max: integer('max').notNull(),
  expiresAt: integer('expires_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** Agent keys and admin keys. Only the SHA-256 of a key is stored, with its last four characters for display. */
export const credentials = sqliteTable('credentials', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  kind: text('kind', { enum: ['agent_key', 'admin_key'] }).notNull(),
  /** The agent of an agent key. */
  agentId: text('agent_id'),
  /** The person who made an admin key: it works while that person is owner or admin. Null: made on the command line. */
  userId: text('user_id').references(() => users.id),
  name: text('name').notNull().default(''),
  hash: text('hash').notNull(),
  last4: text('last4').notNull(),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  revokedAt: integer('revoked_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  uniqueIndex('credentials_hash').on(t.hash),
  index('credentials_agent').on(t.accountId, t.agentId),
])

export const skills = sqliteTable('skills', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  description: text('description').notNull().default(''),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.id] }), uniqueIndex('skills_name').on(t.accountId, t.name)])

export const agentSkills = sqliteTable('agent_skills', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  skillId: text('skill_id').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.skillId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.skillId], foreignColumns: [skills.accountId, skills.id] }),
  index('agent_skills_skill').on(t.accountId, t.skillId),
])

export const channels = sqliteTable('channels', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  description: text('description').notNull().default(''),
  externalIntegrationType: text('external_integration_type'),
  externalChannelName: text('external_channel_name'),
  createdAt: integer('created_at').notNull(),
  deletedAt: integer('deleted_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('channels_live_name').on(t.accountId, t.name).where(sql`deleted_at IS NULL`),
])

export const channelMembers = sqliteTable('channel_members', {
  accountId: text('account_id').notNull(),
  channelId: text('channel_id').notNull(),
  agentId: text('agent_id').notNull(),
  joinedAt: integer('joined_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.channelId, t.agentId] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('channel_members_agent').on(t.accountId, t.agentId),
])

export const guardrails = sqliteTable('guardrails', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  provider: text('provider').notNull(),
  config: text('config', { mode: 'json' }).notNull(),
  action: text('action', { enum: ['block', 'redact', 'flag'] }).notNull(),
  onFailure: text('on_failure', { enum: ['closed', 'open'] }).notNull(),
  enabled: flag('enabled').notNull().default(true),
  /** AES-256-GCM, never answered; `tokenKeyId` names the key of the ring. */
  encryptedToken: text('encrypted_token'),
  tokenIv: text('token_iv'),
  tokenAuthTag: text('token_auth_tag'),
  tokenKeyId: text('token_key_id'),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.id] }), uniqueIndex('guardrails_name').on(t.accountId, t.name)])

export const agentGuardrails = sqliteTable('agent_guardrails', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  direction: text('direction', { enum: ['inbound', 'outbound', 'both'] }).notNull(),
  /** Overrides the guardrail's own action for this agent. */
  action: text('action', { enum: ['block', 'redact', 'flag'] }),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.guardrailId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.guardrailId], foreignColumns: [guardrails.accountId, guardrails.id] }),
  index('agent_guardrails_guardrail').on(t.accountId, t.guardrailId),
])

/** What was sent. A message lives in its sender's account; recipients hold deliveries that point to it. */
export const messages = sqliteTable('messages', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  fromAgentId: text('from_agent_id').notNull(),
  fromAlias: text('from_alias').notNull(),
  type: text('type', { enum: ['agent', 'human', 'system'] }).notNull(),
  /** As addressed: `@alias`, or `#name` of a channel. */
  recipient: text('recipient').notNull(),
  /** The channel of a post; null for a direct message. */
  channelId: text('channel_id'),
  body: text('body').notNull(),
  replyToMessageId: text('reply_to_message_id'),
  conversationId: text('conversation_id'),
  /** The A2A side of a message that came that way (`messageId`, `parts`, `metadata` …); otherwise null. */
  a2a: text('a2a', { mode: 'json' }),
  flagged: flag('flagged').notNull().default(false),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.fromAgentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  // How much is sent per hour is counted without reading messages.
  index('messages_sent').on(t.accountId, t.createdAt),
])

/**
 * One row per message and recipient: the recipient's mailbox. It has two ends,
 * the recipient's account (`account_id`) and the sender's, and each sees it from its own.
 * `seq` is the one order of every mailbox: the order of storing.
 */
export const deliveries = sqliteTable('deliveries', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  state: text('state', { enum: ['unread', 'read', 'parked'] }).notNull(),
  /** Length of what a reader gets (text and A2A parts), so that a batch can be cut to a budget without reading it. */
  chars: integer('chars').notNull(),
  createdAt: integer('created_at').notNull(),
  readAt: integer('read_at'),
  /** The `read_messages` call that handed it out. */
  batchId: text('batch_id'),
  /** How often it was handed out and given back. */
  returned: integer('returned').notNull().default(0),
}, (t) => [
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.senderAccountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  uniqueIndex('deliveries_message').on(t.messageId, t.senderAccountId, t.accountId, t.agentId),
  // Two halves of one mailbox. A full index beside them would win the planner and filter the whole history.
  index('deliveries_unread').on(t.accountId, t.agentId, t.seq, t.chars).where(sql`state = 'unread'`),
  index('deliveries_read').on(t.accountId, t.agentId, t.seq).where(sql`state = 'read'`),
  index('deliveries_batch').on(t.accountId, t.batchId).where(sql`batch_id IS NOT NULL`),
])

/** Sends that may be repeated: the same key of the same agent is the same send. Kept 7 days. */
export const idempotencyKeys = sqliteTable('idempotency_keys', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  key: text('key').notNull(),
  requestHash: text('request_hash').notNull(),
  messageId: text('message_id').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.key] }),
  foreignKey({ columns: [t.accountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  index('idempotency_keys_message').on(t.accountId, t.messageId),
  index('idempotency_keys_created').on(t.createdAt),
])

/**
 * The account activity log: one row per admin call. Append-only (triggers refuse
 * the rest) and chained: `hash` covers the row and the hash of the row before it.
 */
export const activity = sqliteTable('activity', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** 1, 2, 3 … in each account, without gaps. */
  n: integer('n').notNull(),
  id: text('id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** `admin`, `user`, `agent` or `system`. */
  actorType: text('actor_type').notNull(),
  userId: text('user_id'),
  credentialId: text('credential_id'),
  /** `admin_key`, `oauth` or, of a person on the web, `session`; otherwise null. */
  credentialKind: text('credential_kind'),
  tool: text('tool').notNull(),
  /** JSON, without secrets. */
  arguments: text('arguments').notNull(),
  /** `ok`, or the code of the error. */
  outcome: text('outcome').notNull(),
  requestId: text('request_id'),
  previousHash: text('previous_hash').notNull(),
  hash: text('hash').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.n] }),
  // One for each way to filter: the newest rows of one tool, person or credential, what was refused, and a time.
  index('activity_tool').on(t.accountId, t.tool, t.n),
  index('activity_user').on(t.accountId, t.userId, t.n).where(sql`user_id IS NOT NULL`),
  index('activity_credential').on(t.accountId, t.credentialId, t.n).where(sql`credential_id IS NOT NULL`),
  index('activity_refused').on(t.accountId, t.n).where(sql`outcome <> 'ok'`),
  index('activity_time').on(t.accountId, t.createdAt, t.n),
])
