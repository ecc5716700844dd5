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
 * went to another account of its owner; of a removed one, which nobody claimed in time, only the ids are left.
 */
export const accounts = sqliteTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  state: text('state', { enum: ['provisional', 'claimed', 'merged', 'removed'] }).notNull(),
  /** The normalised address whose further signups land here; null once closed to them. */
  joinEmail: text('join_email'),
  createdAt: integer('created_at').notNull(),
  claimedAt: integer('claimed_at'),
}, (t) => [
  uniqueIndex('accounts_join_email').on(t.joinEmail),
  index('accounts_unclaimed').on(t.createdAt).where(sql`state = 'provisional'`),
])

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
  index('sessions_ended').on(t.endedAt).where(sql`ended_at IS NOT NULL`),
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

/** What limits count, such as sign-ins and mails: rows of the last day. Who and from where is a SHA-256. */
export const attempts = sqliteTable('attempts', {
  id: text('id').primaryKey(),
  kind: text('kind').notNull(),
  subject: text('subject').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  index('attempts_subject').on(t.kind, t.subject, t.createdAt),
  index('attempts_created').on(t.createdAt),
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
  /**
   * The person behind a key: who made the admin key, or let in the OAuth client that fetched the agent key. It works
   * while their role allows that. Null: made on the command line, or of an agent by itself or by an admin.
   */
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
  // With the agent, so that the agents of a skill are counted in the index alone.
  index('agent_skills_skill').on(t.accountId, t.skillId, t.agentId),
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
  index('agent_guardrails_guardrail').on(t.accountId, t.guardrailId, t.agentId),
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
  // An answer may come from another account, so the id stands alone.
  index('messages_reply').on(t.replyToMessageId).where(sql`reply_to_message_id IS NOT NULL`),
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
  /** When it left `unread`: handed out, or parked. */
  readAt: integer('read_at'),
  /** The `read_messages` call that handed it out. */
  batchId: text('batch_id'),
  /** How often it was handed out and given back. */
  returned: integer('returned').notNull().default(0),
  /** When a read or a stream that waited was told of it. Null: nobody waited, or it was found before. */
  wokenAt: integer('woken_at'),
}, (t) => [
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.senderAccountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  uniqueIndex('deliveries_message').on(t.messageId, t.senderAccountId, t.accountId, t.agentId),
  // Two halves of one mailbox. A full index beside them would win the planner and filter the whole history.
  index('deliveries_unread').on(t.accountId, t.agentId, t.seq, t.chars).where(sql`state = 'unread'`),
  index('deliveries_read').on(t.accountId, t.agentId, t.seq).where(sql`state = 'read'`),
  // What reached nobody at first and was handed out again: few rows, among which the newest hand-out may be.
  index('deliveries_returned').on(t.accountId, t.agentId, t.seq).where(sql`state = 'read' AND returned > 0`),
  index('deliveries_batch').on(t.accountId, t.batchId).where(sql`batch_id IS NOT NULL`),
])

/** Hand-outs whose answer is under way. What a process leaves here when it dies is given back. Few rows at any time. */
export const openReads = sqliteTable('open_reads', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  batchId: text('batch_id').notNull(),
  /** The process that answers. */
  instanceId: text('instance_id').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.batchId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** Processes that serve one remote database. `beats` rises while a process lives; others watch that it does. */
export const instances = sqliteTable('instances', {
  id: text('id').primaryKey(),
  beats: integer('beats').notNull(),
  createdAt: integer('created_at').notNull(),
})

/**
 * Agents whose waits and streams must look again for another reason than new mail: a credential ended, the agent was
 * deleted or moved, mail was given back. Triggers write it, whoever makes the change, and keep the newest 1,000 rows.
 */
export const wakeCalls = sqliteTable('wake_calls', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  agentId: text('agent_id').notNull(),
})

/** Hand-outs of one delivery that reached nobody, for the timeline of the message. The last one is in `deliveries`. */
export const givenBack = sqliteTable('given_back', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  /** 1 for the first. */
  n: integer('n').notNull(),
  /** When it was handed out. */
  readAt: integer('read_at').notNull(),
  returnedAt: integer('returned_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.messageId, t.senderAccountId, t.accountId, t.agentId, t.n] }),
  foreignKey({
    columns: [t.messageId, t.senderAccountId, t.accountId, t.agentId],
    foreignColumns: [deliveries.messageId, deliveries.senderAccountId, deliveries.accountId, deliveries.agentId],
  }),
])

/** Sends that may be repeated: the same key of the same agent is the same send. Kept 7 days. */
export const idempotencyKeys = sqliteTable('idempotency_keys', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  key: text('key').notNull(),
  requestHash: text('request_hash').notNull(),
  messageId: text('message_id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** JSON: what the send told beyond the message, and every repeat tells again. */
  answer: text('answer'),
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

/**
 * OAuth clients: those that registered themselves (RFC 7591), and those whose `client_id` is the address of
 * their own document. Nobody vouches for either.
 */
export const oauthClients = sqliteTable('oauth_clients', {
  /** A UUID, or the address of the document. */
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['registered', 'document'] }).notNull(),
  name: text('name').notNull(),
  /** JSON array. */
  redirectUris: text('redirect_uris').notNull(),
  authMethod: text('auth_method', { enum: ['none', 'client_secret_post', 'client_secret_basic'] }).notNull(),
  /** SHA-256; null for public clients. */
  secretHash: text('secret_hash'),
  /** Who registered it, as counted by the limits; null for documents. */
  address: text('address'),
  createdAt: integer('created_at').notNull(),
  /** When it last got a token. */
  lastUsedAt: integer('last_used_at'),
  /** Until when a person may be asked by this copy of a document; null for registrations. */
  freshUntil: integer('fresh_until'),
  expiresAt: integer('expires_at').notNull(),
}, (t) => [
  index('oauth_clients_address').on(t.address, t.createdAt),
  index('oauth_clients_unused').on(t.kind, t.createdAt).where(sql`last_used_at IS NULL`),
  index('oauth_clients_expires').on(t.expiresAt),
])

/** Consent pages that wait for an answer: the validated request, and what the person was shown to choose from. */
export const oauthRequests = sqliteTable('oauth_requests', {
  /** SHA-256 of the one-time handle in the form. */
  handleHash: text('handle_hash').primaryKey(),
  /** SHA-256 of what the page's own cookie holds. */
  cookieHash: text('cookie_hash').notNull(),
  sessionId: text('session_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  clientId: text('client_id').notNull(),
  clientName: text('client_name').notNull(),
  redirectUri: text('redirect_uri').notNull(),
  /** The client's own; null when it sent none. */
  state: text('state'),
  codeChallenge: text('code_challenge').notNull(),
  resource: text('resource').notNull(),
  /** JSON: the entries, and the accounts a new agent can be made in. */
  choices: text('choices').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
  /** What came of it; null after a refusal. */
  grantId: text('grant_id'),
}, (t) => [index('oauth_requests_user').on(t.userId, t.expiresAt), index('oauth_requests_expires').on(t.expiresAt)])

/**
 * What a person let a client do, in one account: act as an agent, or administer it. The code by which the client
 * collects it is part of it; until then it is nothing. It lives with the person's membership and the agent.
 */
export const oauthGrants = sqliteTable('oauth_grants', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The credential id in the activity log. */
  id: text('id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  clientId: text('client_id').notNull(),
  /** As the person saw it. */
  clientName: text('client_name').notNull(),
  /** Null: the account's admin. */
  agentId: text('agent_id'),
  scope: text('scope', { enum: ['admin', 'agent:use'] }).notNull(),
  resource: text('resource').notNull(),
  redirectUri: text('redirect_uri').notNull(),
  codeHash: text('code_hash').notNull(),
  codeChallenge: text('code_challenge').notNull(),
  codeExpiresAt: integer('code_expires_at').notNull(),
  codeUsedAt: integer('code_used_at'),
  /** The refresh token that the code was exchanged for. */
  codeTakenBy: text('code_taken_by'),
  createdAt: integer('created_at').notNull(),
  /** Its last end, however often it is refreshed. */
  expiresAt: integer('expires_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  revokedAt: integer('revoked_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  uniqueIndex('oauth_grants_code').on(t.codeHash),
  index('oauth_grants_agent').on(t.accountId, t.agentId),
  index('oauth_grants_user').on(t.userId, t.createdAt),
  index('oauth_grants_expires').on(t.expiresAt),
  index('oauth_grants_revoked').on(t.revokedAt).where(sql`revoked_at IS NOT NULL`),
  index('oauth_grants_uncollected').on(t.codeExpiresAt).where(sql`code_used_at IS NULL`),
])

/** Access and refresh tokens of a grant, the family. Only their SHA-256 is stored. */
export const oauthTokens = sqliteTable('oauth_tokens', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  grantId: text('grant_id').notNull(),
  kind: text('kind', { enum: ['access', 'refresh'] }).notNull(),
  hash: text('hash').notNull(),
  /** The refresh token it was made for; null for those made for the code. */
  parentId: text('parent_id'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  /** First use of a refresh token. */
  usedAt: integer('used_at'),
  /** The newest refresh token made for it. */
  successorId: text('successor_id'),
  revokedAt: integer('revoked_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.grantId], foreignColumns: [oauthGrants.accountId, oauthGrants.id] }),
  uniqueIndex('oauth_tokens_hash').on(t.hash),
  index('oauth_tokens_grant').on(t.accountId, t.grantId),
  index('oauth_tokens_parent').on(t.accountId, t.parentId).where(sql`parent_id IS NOT NULL`),
  index('oauth_tokens_expires').on(t.expiresAt),
])
