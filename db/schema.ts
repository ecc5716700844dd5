/**
 * All tables of the grid. Account tables have `account_id` in their primary key and in every foreign key, so SQLite
 * itself refuses a row that references another account. Times are milliseconds since the epoch, ids are UUIDv7 text,
 * aliases are stored without `@`.
 */
import { sql } from 'drizzle-orm'
import { blob, foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

const flag = (name: string) => integer(name, { mode: 'boolean' })

/**
 * The id of the attempt that last used the row. By this id, a unit that is retried because its result was lost
 * recognizes that it was already committed.
 */
const usedBy = () => text('used_by')

/**
 * A sealed token or key: AES-256-GCM in base64, never part of a response. `tokenKeyId` names the key in the key ring.
 */
const sealedToken = () => ({
  encryptedToken: text('encrypted_token').notNull(),
  tokenIv: text('token_iv').notNull(),
  tokenAuthTag: text('token_auth_tag').notNull(),
  tokenKeyId: text('token_key_id').notNull(),
})
const optionalSealedToken = () => ({
  encryptedToken: text('encrypted_token'),
  tokenIv: text('token_iv'),
  tokenAuthTag: text('token_auth_tag'),
  tokenKeyId: text('token_key_id'),
})

/** Facts about the database. `epoch` identifies its history and is part of cursors. See docs/delivery.md, "Cursors". */
export const storeFacts = sqliteTable('store_facts', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
})

/**
 * The tenants. `provisional`: created by a signup and not claimed yet. `removed`: deleted or never claimed; only ids
 * remain. `removing`: rows are being removed in pieces. `importing`: an archive is being read, and its agents are
 * hidden.
 */
export const accounts = sqliteTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  state: text('state', { enum: ['provisional', 'claimed', 'removing', 'removed', 'importing'] }).notNull(),
  /** Further signups with this normalised email address join the account; null if signups cannot join. */
  joinEmail: text('join_email'),
  createdAt: integer('created_at').notNull(),
  claimedAt: integer('claimed_at'),
  requiresSecondFactor: flag('requires_second_factor').notNull().default(false),
  /** Whether the texts of blocked messages are kept, so that the account's people can read them. */
  peopleSeeContents: flag('people_see_contents').notNull().default(false),
  turnLimits: text('turn_limits', { mode: 'json' }).$type<{ warn?: number; perHour?: number; hops?: number }>(),
  /** Owners and admins may read the agents' conversations from this time on. 0: all of them; null: none. */
  peopleReadSince: integer('people_read_since'),
  /** When the account was deleted, or its removal began. Only owners see it, and can restore it for 7 days. */
  deletedAt: integer('deleted_at'),
  /** The account's own limits. If a limit is null, the one in the settings applies. */
  messagesPerDay: integer('messages_per_day'),
  megabytesPerDay: integer('megabytes_per_day'),
  maxAgents: integer('max_agents'),
  retentionDays: integer('retention_days'),
}, (t) => [
  uniqueIndex('accounts_join_email').on(t.joinEmail),
  index('accounts_deleted').on(t.deletedAt).where(sql`deleted_at IS NOT NULL`),
  index('accounts_unclaimed').on(t.createdAt).where(sql`state = 'provisional'`),
])

export const users = sqliteTable('users', {
  id: text('id').primaryKey(),
  email: text('email').notNull(),
  name: text('name').notNull().default(''),
  /** PHC string; null for users who sign in only by email link. */
  passwordHash: text('password_hash'),
  emailVerifiedAt: integer('email_verified_at'),
  createdAt: integer('created_at').notNull(),
  /** Registered with an invitation whose link was shown to the inviter, who may therefore control this user. */
  registeredByShownLink: flag('registered_by_shown_link').notNull().default(false),
  shortcuts: flag('shortcuts').notNull().default(true),
}, (t) => [uniqueIndex('users_email').on(t.email)])

export const memberships = sqliteTable('memberships', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  role: text('role', { enum: ['owner', 'admin', 'member', 'viewer'] }).notNull(),
  createdAt: integer('created_at').notNull(),
  /** The role was set by the provider's claim, not by a person. */
  roleByClaim: flag('role_by_claim').notNull().default(false),
}, (t) => [primaryKey({ columns: [t.accountId, t.userId] }), index('memberships_user').on(t.userId)])

/** Users whom a person removed from the account. They cannot rejoin until a person readmits them. */
export const removedMembers = sqliteTable('removed_members', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  /** The user's address at the time of removal. */
  email: text('email').notNull(),
  removedAt: integer('removed_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.userId] }), index('removed_members_user').on(t.userId)])

/** Browser sessions. The cookie contains the session token; the table stores only its SHA-256. */
export const sessions = sqliteTable('sessions', {
  id: text('id').primaryKey(),
  userId: text('user_id').notNull().references(() => users.id),
  tokenHash: text('token_hash').notNull(),
  createdAt: integer('created_at').notNull(),
  lastSeenAt: integer('last_seen_at').notNull(),
  /** The absolute expiry. An idle session expires earlier. */
  expiresAt: integer('expires_at').notNull(),
  endedAt: integer('ended_at'),
  userAgent: text('user_agent').notNull().default(''),
  address: text('address').notNull().default(''),
  /** The user still has to provide the second factor. Until then, the session does not count as signed in. */
  awaitsSecondFactor: flag('awaits_second_factor').notNull().default(false),
  /** When the user last proved their identity. */
  confirmedAt: integer('confirmed_at'),
  /** The only account that the session can open, because that account's provider signed the user in. */
  onlyAccount: text('only_account'),
  /** The provider's identity that started the session; null if there was none. */
  ssoIssuer: text('sso_issuer'),
  ssoSubject: text('sso_subject'),
}, (t) => [
  uniqueIndex('sessions_token').on(t.tokenHash),
  index('sessions_user').on(t.userId),
  index('sessions_expire').on(t.expiresAt),
  index('sessions_ended').on(t.endedAt).where(sql`ended_at IS NOT NULL`),
  index('sessions_account').on(t.onlyAccount).where(sql`only_account IS NOT NULL`),
])

export const passkeys = sqliteTable('passkeys', {
  id: text('id').primaryKey(),
  userId: text('user_id').notNull().references(() => users.id),
  credentialId: text('credential_id').notNull(),
  /** The public key as COSE, in base64url. */
  publicKey: text('public_key').notNull(),
  /** The signature counter. It remains 0 for passkeys that are synced between devices. */
  counter: integer('counter').notNull(),
  transports: text('transports', { mode: 'json' }).$type<string[]>().notNull(),
  name: text('name').notNull(),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  usedBy: usedBy(),
}, (t) => [uniqueIndex('passkeys_credential').on(t.credentialId), index('passkeys_user').on(t.userId)])

/** Passkey challenges, and sign-ins in progress at a provider (`sso`). Each can be answered once. */
export const signInChallenges = sqliteTable('sign_in_challenges', {
  hash: text('hash').primaryKey(),
  purpose: text('purpose', { enum: ['sign_in', 'confirm', 'register', 'sso'] }).notNull(),
  /** SHA-256 of the page's CSRF token or of the cookie. Only the same session or browser may answer. */
  holder: text('holder').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedBy: usedBy(),
}, (t) => [index('sign_in_challenges_expire').on(t.expiresAt)])

export const totps = sqliteTable('totps', {
  userId: text('user_id').primaryKey().references(() => users.id),
  ...sealedToken(),
  /** The time step of the last accepted code. Codes of this or an earlier step are refused. */
  lastStep: integer('last_step').notNull().default(0),
  createdAt: integer('created_at').notNull(),
  /** Null until the user has entered a first code. Until then, the app does not count as a second factor. */
  confirmedAt: integer('confirmed_at'),
  usedBy: usedBy(),
})

/** Users' recovery codes, as SHA-256. A code with `usedBy` has been used. */
export const recoveryCodes = sqliteTable('recovery_codes', {
  userId: text('user_id').notNull().references(() => users.id),
  hash: text('hash').notNull(),
  usedBy: usedBy(),
}, (t) => [primaryKey({ columns: [t.userId, t.hash] })])

/** One-time links. All except `set_up` are sent by email, so using one verifies the address. */
export const links = sqliteTable('links', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['set_up', 'sign_in', 'verify', 'reset', 'change_email', 'claim'] }).notNull(),
  tokenHash: text('token_hash').notNull(),
  /** Null for `set_up`, which creates the first user, and for `claim`. */
  userId: text('user_id').references(() => users.id),
  email: text('email'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
}, (t) => [
  uniqueIndex('links_token').on(t.tokenHash),
  index('links_user').on(t.userId, t.kind),
  index('links_expire').on(t.expiresAt),
])

/** Invitations to an account. Only a user whose verified email address is `email` can accept. */
export const invitations = sqliteTable('invitations', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  email: text('email').notNull(),
  role: text('role', { enum: ['owner', 'admin', 'member', 'viewer'] }).notNull(),
  tokenHash: text('token_hash').notNull(),
  /** Null if the operator imported the account and is therefore the inviter. */
  invitedBy: text('invited_by').references(() => users.id),
  /** The agent that represented the person before the account was imported, and will do so again. */
  agentId: text('agent_id'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  acceptedAt: integer('accepted_at'),
  /** When the invitation was withdrawn, or replaced by a newer one for the same address. */
  endedAt: integer('ended_at'),
  /** The link was shown to the inviter, so its use does not prove the address. */
  isLinkShown: flag('is_link_shown').notNull().default(false),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('invitations_token').on(t.tokenHash),
  index('invitations_expire').on(t.expiresAt),
])

export const signups = sqliteTable('signups', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  ownerEmail: text('owner_email').notNull(),
  /** The client address: IPv4, or the /64 of IPv6. */
  address: text('address').notNull(),
  claimTokenHash: text('claim_token_hash').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('signups_claim_token').on(t.claimTokenHash),
  index('signups_owner').on(t.ownerEmail),
])

/**
 * Events counted for limits, such as sign-ins and emails. Kept for a day. `subject` is a SHA-256 of the user or
 * address.
 */
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
  /** Unique across all accounts. A deleted agent's alias remains reserved for its account. */
  alias: text('alias').notNull(),
  type: text('type', { enum: ['mcp', 'a2a', 'human', 'hook'] }).notNull(),
  visibility: text('visibility', { enum: ['private', 'public'] }).notNull(),
  accessPolicy: text('access_policy', { enum: ['auto_approve', 'allow_list', 'block_list'] }).notNull(),
  description: text('description').notNull().default(''),
  remoteUrl: text('remote_url'),
  ...optionalSealedToken(),
  signupId: text('signup_id'),
  createdAt: integer('created_at').notNull(),
  deletedAt: integer('deleted_at'),
  lastSeenAt: integer('last_seen_at'),
  /** A script controls the agent. Its messages, sent or received, never count as turns of a conversation. */
  automated: flag('automated').notNull().default(false),
  /** The agent's plain reply is returned over A2A as a message instead of a task result. */
  messageReplies: flag('message_replies').notNull().default(false),
  /** Whether A2A calls wait for an answer. `auto`: only if the agent is connected or has messages on a timed lease. */
  callersWait: text('callers_wait', { enum: ['auto', 'yes', 'no'] }).notNull().default('auto'),
  /** The account to which the agent was moved with its id and alias. This row counts as deleted. */
  movedTo: text('moved_to').references(() => accounts.id),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.signupId], foreignColumns: [signups.accountId, signups.id] }),
  // Unique only among live agents, because the account may reuse a deleted agent's alias.
  uniqueIndex('agents_live_alias').on(t.alias).where(sql`deleted_at IS NULL`),
  index('agents_alias').on(t.alias),
  index('agents_of_account').on(t.accountId, t.alias).where(sql`deleted_at IS NULL`),
  index('agents_public').on(t.alias).where(sql`visibility = 'public' AND deleted_at IS NULL`),
])

/**
 * Each agent's number. It identifies the agent's inbox and its row in `agent_search`, an FTS5 table that drizzle does
 * not support. `addAgent` adds the number, and triggers maintain the index.
 */
export const agentNumbers = sqliteTable('agent_numbers', {
  n: integer('n').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The number of unread messages in the inbox, maintained by triggers on `deliveries`. */
  unread: integer('unread').notNull().default(0),
  /** How many messages the inbox refused because it was full, on the day that starts at `refusedOn`. */
  refused: integer('refused').notNull().default(0),
  refusedOn: integer('refused_on').notNull().default(0),
}, (t) => [
  uniqueIndex('agent_numbers_agent').on(t.accountId, t.agentId),
  uniqueIndex('agent_numbers_inbox').on(t.accountId, t.n),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** Agents of other accounts that are allowed (`allow_list`) or forbidden (`block_list`) to write to a public agent. */
export const agentAccess = sqliteTable('agent_access', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  alias: text('alias').notNull(),
  /**
   * The alias was unused when it was listed, and no person has since confirmed the agent that took it. `allow_list`
   * does not admit it.
   */
  pending: flag('pending').notNull().default(false),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.alias] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  // Does not contain the account, so that an alias that an agent has just taken can be looked up in all access lists.
  index('agent_access_alias').on(t.alias),
  index('agent_access_pending').on(t.accountId).where(sql`pending`),
])

/** The message allowance of a self-registered agent. An agent without a row has no limit. */
export const trials = sqliteTable('trials', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  used: integer('used').notNull().default(0),
  max: integer('max').notNull(),
  expiresAt: integer('expires_at').notNull(),
  /** When the trial was found to have ended. From then on it stays ended, even if the clock is set back. */
  endedAt: integer('ended_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId] }),
  index('trials_to_end').on(t.expiresAt).where(sql`${t.endedAt} IS NULL`),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** Agent keys and admin keys. Only a key's SHA-256 is stored, with its last four characters for display. */
export const credentials = sqliteTable('credentials', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  kind: text('kind', { enum: ['agent_key', 'admin_key'] }).notNull(),
  agentId: text('agent_id'),
  /**
   * The user on whose role the key depends: the creator of an admin key, or the user whose client fetched an agent key.
   */
  userId: text('user_id').references(() => users.id),
  name: text('name').notNull().default(''),
  hash: text('hash').notNull(),
  last4: text('last4').notNull(),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  revokedAt: integer('revoked_at'),
  /**
   * The grant with which a client fetched the key, which is invalid after the grant's end. Not a foreign key, because
   * ended grants are removed.
   */
  grantId: text('grant_id'),
  /** The admin to whom the agent key was shown on creation. The key does not depend on them. */
  issuedBy: text('issued_by').references(() => users.id),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  uniqueIndex('credentials_hash').on(t.hash),
  index('credentials_agent').on(t.accountId, t.agentId),
  index('credentials_grant').on(t.accountId, t.grantId).where(sql`grant_id IS NOT NULL`),
  index('credentials_issued').on(t.accountId, t.issuedBy).where(sql`issued_by IS NOT NULL AND revoked_at IS NULL`),
  index('credentials_live').on(t.accountId, t.lastUsedAt, t.createdAt).where(sql`revoked_at IS NULL`),
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
  // Includes the agent, so that the index alone suffices to count a skill's agents.
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
  /** The person behind the agent is notified of all posts. */
  follows: flag('follows').notNull().default(false),
  /**
   * Which posts wake the agent. Null: all posts if the channel has at most five members, otherwise posts that mention
   * it.
   */
  wake: text('wake', { enum: ['all', 'mentions', 'none'] }),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.channelId, t.agentId] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('channel_members_agent').on(t.accountId, t.agentId, t.channelId),
  index('channel_members_following').on(t.accountId, t.channelId).where(sql`follows`),
])

/**
 * Agents' temporary reservations of names, such as a file or a ticket on which they work. Renewing one creates a new
 * row, so `n` increases with every change that other agents must respect. See docs/protocol/reservations.md.
 */
export const reservations = sqliteTable('reservations', {
  n: integer('n').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The namespace of the name: a repository, or empty for the account. */
  space: text('space').notNull(),
  /** The reserved name, normalised by `normaliseName`. May contain wildcards. */
  name: text('name').notNull(),
  shared: flag('shared').notNull(),
  note: text('note').notNull(),
  /** The task whose end also ends the reservation, and that task's account. */
  taskId: text('task_id'),
  taskHome: text('task_home'),
  createdAt: integer('created_at').notNull(),
  /** The requested duration. Tool calls by the agent extend the reservation by this duration. */
  lengthMs: integer('length_ms').notNull(),
  endsAt: integer('ends_at').notNull(),
  /** When the agent last called a tool, as of the last check, and the time of that check. */
  calledAt: integer('called_at').notNull(),
  lookedAt: integer('looked_at').notNull(),
  /** Agents that the reservation refused: ids with times. These agents get a message when the reservation ends. */
  refused: text('refused', { mode: 'json' }).notNull().default('[]'),
}, (t) => [
  uniqueIndex('reservations_id').on(t.accountId, t.id),
  uniqueIndex('reservations_name').on(t.accountId, t.space, t.name, t.agentId),
  index('reservations_agent').on(t.accountId, t.agentId),
  index('reservations_end').on(t.endsAt),
  index('reservations_task').on(t.taskId).where(sql`task_id IS NOT NULL`),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

export const guardrails = sqliteTable('guardrails', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  provider: text('provider').notNull(),
  config: text('config', { mode: 'json' }).notNull(),
  action: text('action', { enum: ['block', 'hold', 'redact', 'flag'] }).notNull(),
  onFailure: text('on_failure', { enum: ['closed', 'open'] }).notNull(),
  enabled: flag('enabled').notNull().default(true),
  /** The service that receives the texts, as the `host` of a URL; null for a local provider. */
  host: text('host'),
  ...optionalSealedToken(),
  /** The direction in which `addAgent` attaches the guardrail to every new agent. */
  allAgents: text('all_agents', { enum: ['inbound', 'outbound', 'both'] }),
  /**
   * Since when every check has failed, and the last failure's reason as shown to tenants. Null while checks succeed.
   */
  failingSince: integer('failing_since'),
  failure: text('failure'),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.id] }), uniqueIndex('guardrails_name').on(t.accountId, t.name)])

export const agentGuardrails = sqliteTable('agent_guardrails', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  direction: text('direction', { enum: ['inbound', 'outbound', 'both'] }).notNull(),
  /** Overrides the guardrail's action for this agent. */
  action: text('action', { enum: ['block', 'hold', 'redact', 'flag'] }),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.guardrailId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.guardrailId], foreignColumns: [guardrails.accountId, guardrails.id] }),
  index('agent_guardrails_guardrail').on(t.accountId, t.guardrailId, t.agentId),
])

/** People's consents to guardrails that send their alias's messages to this host. */
export const guardrailConsents = sqliteTable('guardrail_consents', {
  accountId: text('account_id').notNull(),
  /** An agent of type `human`. */
  agentId: text('agent_id').notNull(),
  provider: text('provider').notNull(),
  host: text('host').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.provider, t.host] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** Rules for holding an account's messages for a person's decision: sender, recipient and condition. */
export const approvalRules = sqliteTable('approval_rules', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  /** `any`: all agents, including those of other accounts. `external`: agents and people of other accounts. */
  fromKind: text('from_kind', { enum: ['agent', 'any', 'external', 'people', 'remote'] }).notNull(),
  /** The agent's id, if the kind is `agent`. */
  fromId: text('from_id'),
  /** `any` includes people and channels. */
  toKind: text('to_kind', { enum: ['agent', 'any', 'external', 'people', 'remote', 'channel'] }).notNull(),
  /** The id of the agent or channel, if the kind is `agent` or `channel`. */
  toId: text('to_id'),
  condition: text('condition', { enum: ['always', 'finding', 'parts'] }).notNull(),
  /** For rules on findings: the only guardrail whose findings count; null for any. */
  guardrailId: text('guardrail_id'),
  /** For rules on parts: the prefix of the media types that count; null for any. */
  mediaType: text('media_type'),
  /** For rules on parts: the minimum size in bytes; null for any. */
  minBytes: integer('min_bytes'),
  /** User ids. If the list is empty or none of them is still a member, the owners decide. */
  deciders: text('deciders', { mode: 'json' }).notNull(),
  /** How long a message waits before it is refused. */
  expiresMs: integer('expires_ms').notNull(),
  enabled: flag('enabled').notNull(),
  /** The person who decides must have recently proved their identity. */
  isRisky: flag('is_risky').notNull(),
  createdAt: integer('created_at').notNull(),
  updatedAt: integer('updated_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.id] }), uniqueIndex('approval_rules_name').on(t.accountId, t.name)])

/**
 * Guardrail findings, stored in the guardrail's account, which may differ from the sender's. There are no foreign keys,
 * because a row outlives its guardrail and message.
 */
export const verdicts = sqliteTable('verdicts', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  guardrailName: text('guardrail_name').notNull(),
  direction: text('direction', { enum: ['inbound', 'outbound'] }).notNull(),
  /**
   * The effect on the message. If the guardrail did not answer: `unchecked` if the message was delivered, otherwise
   * `failed`.
   */
  action: text('action', { enum: ['blocked', 'held', 'redacted', 'flagged', 'unchecked', 'failed'] }).notNull(),
  kinds: text('kinds').notNull(),
  agentIds: text('agent_ids').notNull(),
  senderAlias: text('sender_alias').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  /** The recipient as addressed: `@alias` or `#name`. */
  recipient: text('recipient').notNull(),
  /** Null if the message was not delivered and therefore not stored. */
  messageId: text('message_id'),
  /** SHA-256 of the sender's conversation id, because the id itself may contain the finding. */
  conversationHash: text('conversation_hash'),
  textHash: text('text_hash').notNull(),
  /** The text, if it was blocked and the account's people may see it. Removed after 7 days. */
  content: text('content'),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  index('verdicts_guardrail').on(t.accountId, t.guardrailId, t.id),
  index('verdicts_message').on(t.senderAccountId, t.messageId).where(sql`message_id IS NOT NULL`),
  index('verdicts_refused').on(t.accountId, t.recipient, t.createdAt).where(sql`message_id IS NULL`),
  index('verdicts_created').on(t.createdAt),
  index('verdicts_content').on(t.createdAt).where(sql`content IS NOT NULL`),
])

export const guardrailCounts = sqliteTable('guardrail_counts', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  guardrailId: text('guardrail_id').notNull(),
  /** The first millisecond of the hour. */
  hour: integer('hour').notNull(),
  action: text('action', { enum: ['blocked', 'held', 'redacted', 'flagged', 'unchecked', 'failed'] }).notNull(),
  n: integer('n').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.guardrailId, t.hour, t.action] }),
  index('guardrail_counts_hour').on(t.hour),
  index('guardrail_counts_of_account').on(t.accountId, t.hour),
])

/** Texts that a guardrail passes because people overruled its finding. */
export const guardrailExceptions = sqliteTable('guardrail_exceptions', {
  accountId: text('account_id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  textHash: text('text_hash').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.guardrailId, t.textHash] }),
  foreignKey({ columns: [t.accountId, t.guardrailId], foreignColumns: [guardrails.accountId, guardrails.id] }),
])

/** Blocked sends with an idempotency key. A retried send gets the same error. Kept for 7 days. */
export const blockedSends = sqliteTable('blocked_sends', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  key: text('key').notNull(),
  requestHash: text('request_hash').notNull(),
  /** The error's message and details, as JSON. */
  error: text('error').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.key] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('blocked_sends_created').on(t.createdAt),
])

/**
 * Sent messages, stored in the sender's account. `seq` is the storage order across all accounts, which `projections`
 * follow.
 */
export const messages = sqliteTable('messages', {
  /** Negative while the message is held, so that log followers do not read it. It is renumbered on delivery. */
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  fromAgentId: text('from_agent_id').notNull(),
  fromAlias: text('from_alias').notNull(),
  type: text('type', { enum: ['agent', 'human', 'system'] }).notNull(),
  /** The recipient as addressed: `@alias`, or a channel's `#name`. */
  recipient: text('recipient').notNull(),
  channelId: text('channel_id'),
  replyToMessageId: text('reply_to_message_id'),
  conversationId: text('conversation_id'),
  flagged: flag('flagged').notNull().default(false),
  createdAt: integer('created_at').notNull(),
  /** The message's number in its sender's trial: 1, 2, 3 …; null if the sender has no trial. */
  trialNumber: integer('trial_number'),
  /** Invisible characters were removed before storing. */
  sanitized: flag('sanitized').notNull().default(false),
  /** Length of the reply chain: one more than for the answered message. */
  hops: integer('hops').notNull().default(0),
  /** The hosts to which people's guardrails sent the text, separated by a comma and a space; null for none. */
  sharedWith: text('shared_with'),
  /** The text was edited by the person who decided on the message. */
  edited: flag('edited').notNull().default(false),
  /** The source of a message written outside the grid: Slack, or an external program that knows a hook's address. */
  via: text('via', { enum: ['slack', 'hook'] }),
  /** The span of the send, if the process exported traces. @see W3C Trace Context §3.2 */
  traceparent: text('traceparent'),
  // The texts are the last columns. SQLite reads a row from its beginning, so followers of the log do not load them.
  body: text('body').notNull(),
  /** The A2A fields of the message, without its large `parts`. */
  a2a: text('a2a', { mode: 'json' }),
}, (t) => [
  uniqueIndex('messages_id').on(t.accountId, t.id),
  foreignKey({ columns: [t.accountId, t.fromAgentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  // A reply may come from another account, so the index does not contain the account.
  index('messages_reply').on(t.replyToMessageId).where(sql`reply_to_message_id IS NOT NULL`),
  // Messages that ask a person to choose. There are few of them.
  index('messages_choices').on(t.accountId, t.seq).where(sql`substr(a2a, 1, 12) = '{"choices":['`),
])

/**
 * Messages that wait for a person's decision, and the decisions. A message may be held by its own account, and then by
 * its recipient's account. It has no delivery while one of its rows is `held`.
 */
export const heldMessages = sqliteTable('held_messages', {
  /** The account whose people decide. */
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  fromAgentId: text('from_agent_id').notNull(),
  /** The recipient: an agent or a channel. */
  toId: text('to_id').notNull(),
  /** The task to which the message belongs, if its sender is the task's recipient. */
  taskId: text('task_id'),
  /** `joined`: merged into a later message, which is the next chunk of the same artifact. */
  state: text('state', { enum: ['held', 'approved', 'refused', 'expired', 'retracted', 'joined'] }).notNull(),
  /** The rule as it was when the message was held: `HoldingRule`. */
  rule: text('rule', { mode: 'json' }).notNull(),
  /** Findings of the account's guardrails: a list of `HeldFinding`. */
  findings: text('findings', { mode: 'json' }).notNull(),
  /** Additional data for its delivery: `HeldDelivery`. */
  later: text('later', { mode: 'json' }).notNull(),
  /** When the message was sent, before it was held. */
  sentAt: integer('sent_at').notNull(),
  heldAt: integer('held_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  decidedAt: integer('decided_at'),
  /** The user, and the account's name for them; null if the grid itself refused the message. */
  decidedBy: text('decided_by'),
  decider: text('decider'),
  reason: text('reason'),
  edited: flag('edited').notNull().default(false),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.senderAccountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  index('held_messages_message').on(t.messageId, t.senderAccountId),
  index('held_messages_sent').on(t.senderAccountId, t.id),
  index('held_messages_waiting').on(t.accountId, t.expiresAt).where(sql`state = 'held'`),
  index('held_messages_expire').on(t.expiresAt).where(sql`state = 'held'`),
  index('held_messages_task').on(t.taskId).where(sql`state = 'held' AND task_id IS NOT NULL`),
  index('held_messages_decided').on(t.accountId, t.decidedAt).where(sql`decided_at IS NOT NULL`),
])

/** Messages scheduled for later. They are not messages yet, so they have no number, and no cursor passes them. */
export const scheduledMessages = sqliteTable('scheduled_messages', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  sendAt: integer('send_at').notNull(),
  /** The recipient as addressed: `@alias` or `#name`. */
  recipient: text('recipient').notNull(),
  /** The content of the message to send: `ScheduledContent`. */
  content: text('content', { mode: 'json' }).notNull(),
  bytes: integer('bytes').notNull(),
  /** The call's idempotency key, and the hash that a retried call must match. */
  key: text('key'),
  requestHash: text('request_hash').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('scheduled_messages_agent').on(t.accountId, t.agentId),
  index('scheduled_messages_due').on(t.sendAt),
  uniqueIndex('scheduled_messages_key').on(t.accountId, t.agentId, t.key).where(sql`key IS NOT NULL`),
])

/** Message parts that are too large for an inbox. */
export const parts = sqliteTable('parts', {
  accountId: text('account_id').notNull(),
  /** The message id, a dot, and a name. */
  id: text('id').notNull(),
  messageId: text('message_id').notNull(),
  mediaType: text('media_type').notNull(),
  /** `upload`: the content is an upload's id. */
  encoding: text('encoding', { enum: ['utf8', 'base64', 'upload'] }).notNull(),
  content: text('content').notNull(),
  /** The size of the decoded content. */
  bytes: integer('bytes').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  index('parts_message').on(t.accountId, t.messageId),
])

/** Files that agents upload for a message that they send later. Uploads that are not used in time are removed. */
export const uploads = sqliteTable('uploads', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  filename: text('filename'),
  mediaType: text('media_type'),
  /** The size that the agent declared. */
  bytes: integer('bytes').notNull(),
  /** How many bytes have been received, which is the total length of the upload's rows. */
  received: integer('received').notNull().default(0),
  /** The message that includes the upload. */
  messageId: text('message_id'),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  index('uploads_agent').on(t.accountId, t.agentId),
  index('uploads_message').on(t.accountId, t.messageId).where(sql`message_id IS NOT NULL`),
  index('uploads_unnamed').on(t.createdAt).where(sql`message_id IS NULL`),
])

/** An upload's content in rows of 64 KiB. The last row may be shorter. */
export const uploadRows = sqliteTable('upload_rows', {
  accountId: text('account_id').notNull(),
  uploadId: text('upload_id').notNull(),
  n: integer('n').notNull(),
  content: blob('content').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.uploadId, t.n] }),
  foreignKey({ columns: [t.accountId, t.uploadId], foreignColumns: [uploads.accountId, uploads.id] })
    .onDelete('cascade').onUpdate('cascade'),
])

/**
 * One row per message and recipient, in the recipient's account. These rows are the recipient's inbox. Ordered by
 * message and without a row id, so that new rows are appended.
 */
export const deliveries = sqliteTable('deliveries', {
  /** The message's number, which orders every inbox. */
  seq: integer('seq').notNull().references(() => messages.seq),
  /** The number of the recipient's agent. */
  inbox: integer('inbox').notNull(),
  accountId: text('account_id').notNull(),
  /**
   * `task`: shown only in its task. In the last three states, the message ended unread. `withdrawn`: the task was
   * canceled; `expired`: its time was up; `retracted`: the sender retracted it.
   */
  state: text('state', { enum: ['unread', 'read', 'parked', 'task', 'withdrawn', 'expired', 'retracted'] }).notNull(),
  /** UTF-16 units of the text and inline A2A fields, so that a read can respect its limit without loading messages. */
  chars: integer('chars').notNull(),
  createdAt: integer('created_at').notNull(),
  /** When the message was leased or parked. */
  readAt: integer('read_at'),
  /** The lease of the message, kept after an ack. */
  leaseId: text('lease_id'),
  releaseCount: integer('release_count').notNull().default(0),
  /** When the message woke a waiting read or stream. Null if none was waiting, or another read was faster. */
  wokenAt: integer('woken_at'),
  /** The sender, if it belongs to another account or was moved to one. The recipient may reply to it. */
  externalId: text('external_id'),
  /** The message id, if the message is stored in another account. The recipient finds it by this id. */
  externalMessageId: text('external_message_id'),
  /** The text, if the recipient's guardrail redacted it for this delivery; otherwise the message's text is used. */
  body: text('body'),
  /** Replaces all A2A fields if `body` replaces the text. The message's parts are then withheld from this recipient. */
  a2a: text('a2a'),
  flagged: flag('flagged').notNull().default(false),
  /** The message waits in the inbox without waking anybody. See `wake` of `channel_members`. */
  quiet: flag('quiet').notNull().default(false),
  /** The message's task, which is in its client's account. Reading the message sets it to `working`. */
  taskId: text('task_id'),
  /** When the message expires if it is still unread; null for never. */
  expiresAt: integer('expires_at'),
}, (t) => [
  primaryKey({ columns: [t.seq, t.inbox] }),
  foreignKey({ columns: [t.accountId, t.inbox], foreignColumns: [agentNumbers.accountId, agentNumbers.n] }),
  // Unread and read messages have separate indexes. With one index, the planner would filter the whole history.
  index('deliveries_unread').on(t.inbox, t.seq, t.chars, t.expiresAt).where(sql`state = 'unread'`),
  index('deliveries_read').on(t.inbox, t.seq).where(sql`state = 'read'`),
  // Messages that were released and leased again, which the search for the newest lease reads. There are few.
  index('deliveries_redelivered').on(t.inbox, t.seq).where(sql`state = 'read' AND release_count > 0`),
  index('deliveries_sender').on(t.inbox, t.externalId).where(sql`external_id IS NOT NULL`),
  index('deliveries_external').on(t.externalMessageId).where(sql`external_message_id IS NOT NULL`),
  // Unread messages that were released three times or more, so that they need a person's attention.
  index('deliveries_returned').on(t.accountId, t.inbox).where(sql`state = 'unread' AND release_count > 2`),
  index('deliveries_expire').on(t.expiresAt).where(sql`state = 'unread' AND expires_at IS NOT NULL`),
  index('deliveries_parked').on(t.accountId, t.readAt).where(sql`state = 'parked'`),
])

/** Leases that are neither acked nor released. After a claim whose result was lost, an empty lease remains. */
export const leases = sqliteTable('leases', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  id: text('id').notNull(),
  /** The process that sends the response. For an expiring lease, the credential that created it. */
  holder: text('holder').notNull(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at'),
  /** The lease has the id of a message whose sender waits for the answer, which goes into the lease, not the inbox. */
  awaitsAnswer: flag('awaits_answer').notNull().default(false),
  /** The idempotency key of the send that took the lease as `next`. */
  key: text('key'),
  /**
   * The numbers of its original messages, as a JSON array; null while it waits for an answer. The numbers only help to
   * find the messages, because each delivery records whether its message is still in the lease.
   */
  seqs: text('seqs'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('leases_awaiting').on(t.accountId, t.agentId).where(sql`awaits_answer = 1`),
  // Leases of plain reads are not in this index, so the index does not slow down plain reads.
  index('leases_timed').on(t.accountId, t.agentId, t.expiresAt).where(sql`expires_at IS NOT NULL`),
])

/**
 * The processes that serve a remote database. `heartbeats` increases while a process is alive, and the others watch it.
 */
export const instances = sqliteTable('instances', {
  id: text('id').primaryKey(),
  heartbeats: integer('heartbeats').notNull(),
  createdAt: integer('created_at').notNull(),
  /** The agents' clients that are active in this process, as JSON. See docs/conversations.md, "Presence". */
  present: text('present').notNull(),
  /** The ids of the keys in the process's key ring, newest first, separated by commas. */
  ring: text('ring').notNull(),
})

/**
 * The log: events other than new messages, which have their own order (`messages.seq`). Followers read both by
 * position; see docs/architecture.md, "After the commit". A row contains only ids and is removed once every stored
 * position has passed it.
 */
export const log = sqliteTable('log', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  /**
   * `agent`, `person`: wakes the callers that wait for this agent or person, because a credential, session or
   * membership ended, a lease was released, or a message has ended. `task`: the task has a new event. `held`: a message
   * waits for a decision. `reservation`: the reservation has ended.
   */
  kind: text('kind', { enum: ['agent', 'person', 'task', 'held', 'reservation'] }).notNull(),
  /** The id of the agent, user, task, held message or reservation. */
  subject: text('subject').notNull(),
  /** The subject's account. Null for a person. */
  home: text('home'),
  /** A task's new state; null for an event about an artifact chunk. */
  state: text('state'),
  at: integer('at').notNull().default(sql`(unixepoch() * 1000)`),
})

/** Log rows that a follower skipped because they repeatedly failed. Kept for a week. */
export const skippedRows = sqliteTable('skipped_rows', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  follower: text('follower').notNull(),
  /** The number of the message or other log row. */
  seq: integer('seq').notNull(),
  reason: text('reason').notNull(),
  at: integer('at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.follower, t.seq] }),
  index('skipped_rows_at').on(t.at),
])

/** Released leases of a delivery, for the message's timeline. The newest lease is in `deliveries`. */
export const leaseReleases = sqliteTable('lease_releases', {
  accountId: text('account_id').notNull(),
  /** The delivery. */
  seq: integer('seq').notNull(),
  inbox: integer('inbox').notNull(),
  n: integer('n').notNull(),
  leasedAt: integer('leased_at').notNull(),
  releasedAt: integer('released_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.seq, t.inbox, t.n] }),
  foreignKey({ columns: [t.seq, t.inbox], foreignColumns: [deliveries.seq, deliveries.inbox] }).onUpdate('cascade'),
])

/** Idempotency keys of sends and task updates. An agent that reuses a key retries the same call. Kept for 7 days. */
export const idempotencyKeys = sqliteTable('idempotency_keys', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  key: text('key').notNull(),
  requestHash: text('request_hash').notNull(),
  /** The account of the message. It may differ from the agent's: the agent was moved, or the call updated a task. */
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** The send's receipt as JSON, which a retried send returns again. */
  receipt: text('receipt'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.key] }),
  foreignKey({ columns: [t.senderAccountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  index('idempotency_keys_message').on(t.senderAccountId, t.messageId),
  index('idempotency_keys_created').on(t.createdAt),
])

const taskStates = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
] as const

/**
 * The lifecycle of messages that expect an answer, stored in the client's account. The recipient's account finds a task
 * by `recipient_account_id`. Every change is an event. There is no foreign key to messages, because their retention
 * does not wait for tasks.
 */
export const tasks = sqliteTable('tasks', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  clientAgentId: text('client_agent_id').notNull(),
  recipientAccountId: text('recipient_account_id').notNull(),
  recipientAgentId: text('recipient_agent_id').notNull(),
  recipientAlias: text('recipient_alias').notNull(),
  messageId: text('message_id').notNull(),
  conversationId: text('conversation_id').notNull(),
  /** The client's id for the conversation. */
  contextId: text('context_id').notNull(),
  mode: text('mode', { enum: ['receipt', 'task', 'message'] }).notNull(),
  state: text('state', { enum: taskStates }).notNull(),
  statusAt: integer('status_at').notNull(),
  generation: integer('generation').notNull(),
  createdAt: integer('created_at').notNull(),
  /** When the task fails if there is no answer; null once it has ended. 0 if its recipient was deleted. */
  expiresAt: integer('expires_at'),
  /** Approximate size of its messages and artifacts. Triggers add the size of each inserted row. */
  bytes: integer('bytes').notNull().default(0),
  /** The newest event is a status by the grid: the recipient works on the task and has been silent for an hour. */
  quiet: flag('quiet').notNull().default(false),
  /** SHA-256 of the client's newest message, for recognizing a repeat; null if its id is not a UUID. */
  repeatHash: text('repeat_hash'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.clientAgentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.recipientAccountId, t.recipientAgentId], foreignColumns: [agents.accountId, agents.id] }),
  index('tasks_of_client').on(t.accountId, t.clientAgentId, t.statusAt, t.id),
  index('tasks_of_recipient').on(t.recipientAccountId, t.recipientAgentId, t.id),
  index('tasks_of_account').on(t.accountId, t.statusAt, t.id),
  index('tasks_message').on(t.accountId, t.messageId),
  index('tasks_repeat').on(t.accountId, t.clientAgentId, t.repeatHash)
    .where(sql`repeat_hash IS NOT NULL AND expires_at IS NOT NULL`),
  index('tasks_expire').on(t.expiresAt).where(sql`expires_at IS NOT NULL`),
  index('tasks_working').on(t.recipientAccountId, t.recipientAgentId, t.clientAgentId).where(sql`state = 'working'`),
  index('tasks_heard').on(t.statusAt).where(sql`state = 'working' AND NOT quiet`),
  index('tasks_ended').on(t.statusAt).where(sql`expires_at IS NULL`),
])

/** A task's messages: the client's messages, and the recipient's messages about its state. Rows only reference them. */
export const taskMessages = sqliteTable('task_messages', {
  accountId: text('account_id').notNull(),
  taskId: text('task_id').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  /** `result`: the content of an artifact, which is not part of the history. */
  role: text('role', { enum: ['user', 'agent', 'result'] }).notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.taskId, t.messageId] }),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
  index('task_messages_message').on(t.senderAccountId, t.messageId),
])

/** Task events in commit order. `n` numbers a task's events from 1 without gaps. */
export const taskEvents = sqliteTable('task_events', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  taskId: text('task_id').notNull(),
  n: integer('n').notNull(),
  /** Generated before the unit, so that a retried unit recognizes its own event. */
  id: text('id').notNull(),
  at: integer('at').notNull(),
  /** The new state; null if the event is about an artifact, which is in `artifacts` under the same `n`. */
  state: text('state', { enum: taskStates }),
  /** The recipient's message about the state or with its result, and that message's account. Null if there is none. */
  senderAccountId: text('sender_account_id'),
  messageId: text('message_id'),
  /** The grid's own reason for the state, or null. */
  reason: text('reason'),
}, (t) => [
  uniqueIndex('task_events_n').on(t.accountId, t.taskId, t.n),
  uniqueIndex('task_events_id').on(t.accountId, t.taskId, t.id),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
])

/** Task results, with one row for each chunk, so that no chunk is ever rewritten. */
export const artifacts = sqliteTable('artifacts', {
  accountId: text('account_id').notNull(),
  taskId: text('task_id').notNull(),
  n: integer('n').notNull(),
  artifactId: text('artifact_id').notNull(),
  /** The parts are appended to the parts of the previous chunks. Otherwise, the artifact starts again. */
  append: flag('append').notNull(),
  lastChunk: flag('last_chunk').notNull(),
  name: text('name'),
  /** Parts in their 1.0 form, as JSON; null if the event's message contains them. */
  parts: text('parts'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.taskId, t.n] }),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
])

/** Clients' ids for their conversations with a recipient, with the conversation id that the server assigned to each. */
export const contexts = sqliteTable('contexts', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  contextId: text('context_id').notNull(),
  recipientAgentId: text('recipient_agent_id').notNull(),
  conversationId: text('conversation_id').notNull(),
  usedAt: integer('used_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.contextId, t.recipientAgentId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('contexts_used').on(t.usedAt),
])

/** Requests to an external server, one at a time. See docs/protocol/remote-agents.md, "How messages are sent". */
const line = () => ({
  /** When the next request is due; null if there is nothing to send. */
  dueAt: integer('due_at'),
  /** Failed attempts since the last success, when they began, and the last failure's reason. */
  attempts: integer('attempts').notNull().default(0),
  failingSince: integer('failing_since'),
  error: text('error'),
  /** When the last attempt began. */
  triedAt: integer('tried_at'),
  /** The id of the process that is sending a request, with an id of the attempt. */
  claimedBy: text('claimed_by'),
})

/** An agent with a `remote_url`. `addAgent` adds the row. */
export const remoteAgents = sqliteTable('remote_agents', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** Data read from the agent's card, as JSON; null until it has been read. */
  card: text('card'),
  cardAt: integer('card_at'),
  /** Time limit for the answer to a message. */
  answerMs: integer('answer_ms').notNull().default(600_000),
  /** The feature that delivers the agent's messages, in one order for all senders. Null: A2A, with one per sender. */
  transport: text('transport'),
  /** Since when people have paused the sending of its messages; null while it is not paused. */
  pausedAt: integer('paused_at'),
  /** Random. Callback tokens are derived from it. A token only lets its holder make the grid check for news at once. */
  callbackSecret: text('callback_secret').notNull().default(sql`(hex(randomblob(32)))`),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** One sender's unread messages to a remote agent. The row exists from the first delivery to the last. */
export const remoteOutboxes = sqliteTable('remote_outboxes', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The sending agent, from any account. Empty for all senders if the remote agent has a single order. */
  senderId: text('sender_id').notNull(),
  /** The message being sent, or a message that may have arrived although its request failed. */
  sendingId: text('sending_id'),
  /** How many requests with this message arrived in full but got no usable answer. */
  unanswered: integer('unanswered').notNull().default(0),
  ...line(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.senderId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('remote_outboxes_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
  // For callbacks, which contain only this id.
  index('remote_outboxes_sending').on(t.sendingId).where(sql`sending_id IS NOT NULL`),
  index('remote_outboxes_claimed').on(t.accountId, t.agentId).where(sql`claimed_by IS NOT NULL`),
])

/** The outcome of a message at a remote agent, with one row for each accepted or refused message. */
export const remoteTasks = sqliteTable('remote_tasks', {
  accountId: text('account_id').notNull(),
  /** The id of the message. */
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The conversation of the message, or else the alias of its sender. */
  conversation: text('conversation').notNull(),
  /** The remote agent's ids for the conversation and the task. */
  contextId: text('context_id'),
  taskId: text('task_id'),
  state: text('state', { enum: ['working', 'input-required', 'ended'] }).notNull(),
  /** When the agent accepted or refused the message. */
  createdAt: integer('created_at').notNull(),
  /** The number of the attempt that was accepted or refused, and when it began. */
  sends: integer('sends').notNull(),
  sentAt: integer('sent_at').notNull(),
  ...line(),
}, (t) => [
  // Contains the agent, because a post to a channel may reach several remote agents.
  primaryKey({ columns: [t.accountId, t.agentId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('remote_tasks_conversation').on(t.accountId, t.agentId, t.conversation, t.createdAt),
  index('remote_tasks_created').on(t.createdAt),
  // Callbacks use this index too.
  index('remote_tasks_id').on(t.id),
  index('remote_tasks_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
])

/** Webhooks that a task's client registers for the task's events. The token contains all secrets of the webhook. */
export const taskPushConfigs = sqliteTable('task_push_configs', {
  accountId: text('account_id').notNull(),
  /** New with each registration or replacement, so that the result of a send for the previous one is ignored. */
  id: text('id').notNull(),
  taskId: text('task_id').notNull(),
  /** The client of the task. */
  agentId: text('agent_id').notNull(),
  /** The client's id for the webhook. */
  configId: text('config_id').notNull(),
  url: text('url').notNull(),
  /** The scheme for the header `Authorization`. */
  scheme: text('scheme'),
  ...optionalSealedToken(),
  /** The A2A version. */
  version: text('version', { enum: ['0.3', '1.0'] }).notNull(),
  /** The last event that the receiver accepted, or the last one before the registration. */
  sentN: integer('sent_n').notNull(),
  createdAt: integer('created_at').notNull(),
  /** When the grid gave up on the webhook. */
  endedAt: integer('ended_at'),
  ...line(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('task_push_configs_config').on(t.accountId, t.taskId, t.configId),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
  index('task_push_configs_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
])

/** Servers that an account notifies of its events. See docs/protocol/webhooks.md. */
export const webhooks = sqliteTable('webhooks', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  url: text('url').notNull(),
  /** The URL's host. People may allow it to receive their texts: see `guardrailConsents`. */
  host: text('host').notNull(),
  events: text('events', { mode: 'json' }).$type<string[]>().notNull(),
  /** JSON: the secret, and the previous secret while both are used for signing. */
  ...sealedToken(),
  /** JSON: by kind and subject, the level at which the webhook was notified of the Attention condition. */
  notified: text('notified').notNull().default('{}'),
  /** The most recent responses, newest first. */
  answers: text('answers', { mode: 'json' }).$type<WebhookAnswer[]>().notNull().default([]),
  createdAt: integer('created_at').notNull(),
  /** Paused by a person, or by the grid if `error` contains the reason. */
  pausedAt: integer('paused_at'),
  ...line(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  index('webhooks_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
])

export interface WebhookAnswer {
  at: number
  type: string
  /** Null if there was no response. */
  status: number | null
  ms: number
  /** The beginning of the response, or the reason why there was none. */
  text: string
}

/** Pending notifications of a webhook, in order. They contain no texts. Texts are read when a notification is sent. */
export const webhookEvents = sqliteTable('webhook_events', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  webhookId: text('webhook_id').notNull(),
  /** The id of the notification, which is the same in each attempt. */
  id: text('id').notNull(),
  type: text('type').notNull(),
  at: integer('at').notNull(),
  /** JSON. */
  data: text('data').notNull(),
}, (t) => [
  foreignKey({ columns: [t.accountId, t.webhookId], foreignColumns: [webhooks.accountId, webhooks.id] })
    .onDelete('cascade').onUpdate('cascade'),
  index('webhook_events_next').on(t.accountId, t.webhookId, t.seq),
])

/** Addresses to which external programs post messages. See docs/protocol/incoming.md. */
export const incomingHooks = sqliteTable('incoming_hooks', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  /** SHA-256 of the token in the address. */
  tokenHash: text('token_hash').notNull(),
  /** The agent that sends the messages, of type `hook`. */
  agentId: text('agent_id').notNull(),
  /** Exactly one is set: the agent or the channel that receives the messages. */
  toAgentId: text('to_agent_id'),
  channelId: text('channel_id'),
  format: text('format', { enum: ['summary', 'template', 'github', 'alertmanager'] }).notNull(),
  template: text('template').notNull(),
  /** The secret for verifying signed requests, if they must be signed. */
  ...optionalSealedToken(),
  /** The last requests, newest first. Contains ids, outcomes and times, but no texts. */
  deliveries: text('deliveries', { mode: 'json' }).$type<HookDelivery[]>().notNull().default([]),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.toAgentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  uniqueIndex('incoming_hooks_token').on(t.tokenHash),
])

export interface HookDelivery {
  at: number
  /** `sent`, `held`, `ignored`, or the error code of a refused request. */
  outcome: string
  /** The id of the request's message. */
  message?: string
}

/** The messages that an account's agents sent per day. */
export const usage = sqliteTable('usage', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The first millisecond of the day, in UTC. */
  day: integer('day').notNull(),
  /** Empty for all of the account's messages. Otherwise the id of the recipient, an agent of another account. */
  subject: text('subject').notNull(),
  messages: integer('messages').notNull(),
  bytes: integer('bytes').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.day, t.subject] }),
  index('usage_day').on(t.day),
])

/** How often a conversation's last sender changed. See docs/conversations.md, "Conversations that run away". */
export const conversationTurns = sqliteTable('conversation_turns', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /**
   * A conversation id, or a pair's sorted aliases, with the prefix `#name` for a pair of channel members. The row of
   * `#name` alone contains the channel's last sender and, in `agents`, the channel's paused members.
   */
  key: text('key').notNull(),
  sender: text('sender').notNull(),
  answered: text('answered'),
  /** The number of turns in the hour that starts at `since`. */
  turns: integer('turns').notNull(),
  since: integer('since').notNull(),
  agents: text('agents', { mode: 'json' }).$type<string[]>().notNull(),
  isLong: flag('is_long').notNull().default(false),
  pausedAt: integer('paused_at'),
  notifiedAt: integer('notified_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.key] }),
  index('conversation_turns_since').on(t.since),
  index('conversation_turns_long').on(t.accountId, t.since).where(sql`is_long = 1`),
  index('conversation_turns_unnotified').on(t.pausedAt).where(sql`paused_at IS NOT NULL AND notified_at IS NULL`),
  index('conversation_turns_paused').on(t.accountId, t.pausedAt).where(sql`paused_at IS NOT NULL`),
])

/** The account activity log: one row per admin call. Append-only: triggers reject updates and deletes. */
export const activity = sqliteTable('activity', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The position in the account's log: 1, 2, 3 … without gaps. */
  n: integer('n').notNull(),
  id: text('id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** `admin`, `user`, `agent` or `system`. */
  actorType: text('actor_type').notNull(),
  userId: text('user_id'),
  credentialId: text('credential_id'),
  /** `admin_key`, `oauth` or, for a user in the browser, `session`; otherwise null. */
  credentialKind: text('credential_kind'),
  tool: text('tool').notNull(),
  /** The call's arguments as JSON, without secrets. */
  arguments: text('arguments').notNull(),
  outcome: text('outcome').notNull(),
  requestId: text('request_id'),
}, (t) => [
  // Makes a retried unit fail, because the id is unique.
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('activity_n').on(t.accountId, t.n),
  // One index for each filter: tool, user, credential, errors, changes, and time.
  index('activity_tool').on(t.accountId, t.tool, t.n),
  index('activity_user').on(t.accountId, t.userId, t.n).where(sql`user_id IS NOT NULL`),
  index('activity_credential').on(t.accountId, t.credentialId, t.n).where(sql`credential_id IS NOT NULL`),
  index('activity_refused').on(t.accountId, t.n).where(sql`outcome <> 'ok'`),
  index('activity_changes').on(t.accountId, t.n).where(
    sql`substr(tool, 1, 11) <> 'admin_list_' AND substr(tool, 1, 5) <> 'read_'`,
  ),
  index('activity_time').on(t.accountId, t.createdAt, t.n),
])

/** OAuth clients that registered (RFC 7591), or whose id is their metadata document's URL. Neither kind is verified. */
export const oauthClients = sqliteTable('oauth_clients', {
  /** A UUID, or the document's URL. */
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['registered', 'document'] }).notNull(),
  name: text('name').notNull(),
  redirectUris: text('redirect_uris').notNull(),
  authMethod: text('auth_method', { enum: ['none', 'client_secret_post', 'client_secret_basic'] }).notNull(),
  secretHash: text('secret_hash'),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  /** How long this copy of a document may be used on a consent page; null for registrations. */
  freshUntil: integer('fresh_until'),
  expiresAt: integer('expires_at').notNull(),
}, (t) => [
  index('oauth_clients_unused').on(t.kind, t.createdAt).where(sql`last_used_at IS NULL`),
  index('oauth_clients_expires').on(t.expiresAt),
])

/** Authorization requests on a consent page: the validated request, with the choices offered to the user. */
export const oauthRequests = sqliteTable('oauth_requests', {
  handleHash: text('handle_hash').primaryKey(),
  cookieHash: text('cookie_hash').notNull(),
  sessionId: text('session_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  clientId: text('client_id').notNull(),
  clientName: text('client_name').notNull(),
  redirectUri: text('redirect_uri').notNull(),
  state: text('state'),
  codeChallenge: text('code_challenge').notNull(),
  resource: text('resource').notNull(),
  /** The entries of the picker, and the accounts in which a new agent can be created, as JSON. */
  choices: text('choices').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
  /** The grant that the user gave; null after a refusal. */
  grantId: text('grant_id'),
}, (t) => [index('oauth_requests_user').on(t.userId, t.expiresAt), index('oauth_requests_expires').on(t.expiresAt)])

/**
 * A user's authorization of a client in one account, with the authorization code. The grant has no effect until the
 * code is exchanged. It requires the user's membership and a live agent.
 */
export const oauthGrants = sqliteTable('oauth_grants', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The credential id in the activity log. */
  id: text('id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  clientId: text('client_id').notNull(),
  clientName: text('client_name').notNull(),
  /** The agent as which the client acts. Null for a grant to administer the account. */
  agentId: text('agent_id'),
  scope: text('scope', { enum: ['admin', 'agent:use'] }).notNull(),
  resource: text('resource').notNull(),
  redirectUri: text('redirect_uri').notNull(),
  codeHash: text('code_hash').notNull(),
  codeChallenge: text('code_challenge').notNull(),
  codeExpiresAt: integer('code_expires_at').notNull(),
  codeUsedAt: integer('code_used_at'),
  /** The refresh token issued for the code. */
  codeTakenBy: text('code_taken_by'),
  createdAt: integer('created_at').notNull(),
  /** The absolute expiry, which a refresh does not extend. */
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

/** The access and refresh tokens of a grant, which form one token family. Only their SHA-256 is stored. */
export const oauthTokens = sqliteTable('oauth_tokens', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  grantId: text('grant_id').notNull(),
  kind: text('kind', { enum: ['access', 'refresh'] }).notNull(),
  hash: text('hash').notNull(),
  /** The refresh token for which it was issued; null for tokens issued for the code. */
  parentId: text('parent_id'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
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

/** How far each projection has followed `messages.seq`. Negative while it is being emptied. */
export const projections = sqliteTable('projections', {
  name: text('name').primaryKey(),
  seq: integer('seq').notNull(),
})

/** An account's conversations. Each message has one thread in its sender's account and one in its recipient's. */
export const threads = sqliteTable('threads', {
  /** Kept when the projection is rebuilt, so that links remain valid. */
  id: integer('id').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull().references(() => accounts.id),
  kind: text('kind', { enum: ['channel', 'conversation', 'pair'] }).notNull(),
  /**
   * A channel's id, two agents' sorted ids, or a slash and the conversation id. If the conversation is with an agent of
   * another account, the slash follows that agent's id.
   */
  key: text('key').notNull(),
  /** The newest message; 0 while the projection is being rebuilt. */
  lastSeq: integer('last_seq').notNull(),
  lastAt: integer('last_at').notNull(),
  messages: integer('messages').notNull(),
}, (t) => [
  uniqueIndex('threads_id').on(t.accountId, t.id),
  uniqueIndex('threads_key').on(t.accountId, t.kind, t.key),
  index('threads_newest').on(t.accountId, t.lastSeq),
])

/**
 * Each message's position in the conversations of every account that shows it. There is no row id, so that rows are in
 * thread order. The keys omit the account, because a thread belongs to one account.
 */
export const threadMessages = sqliteTable('thread_messages', {
  accountId: text('account_id').notNull(),
  threadId: integer('thread_id').notNull(),
  seq: integer('seq').notNull(),
  /** The first message of the message's reply chain. For a message that starts a chain, the message itself. */
  rootSeq: integer('root_seq').notNull(),
}, (t) => [
  primaryKey({ columns: [t.threadId, t.seq] }),
  foreignKey({ columns: [t.accountId, t.threadId], foreignColumns: [threads.accountId, threads.id] }),
  index('thread_messages_seq').on(t.seq),
  index('thread_messages_root').on(t.rootSeq).where(sql`root_seq <> seq`),
])

/** The account's agents in its threads. In a channel, these are its members. There is no row id. */
export const threadAgents = sqliteTable('thread_agents', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  threadId: integer('thread_id').notNull(),
  /**
   * The `seq` of the newest delivery to the agent, which may have been removed; 0 if the agent only wrote. Inboxes are
   * read in this order.
   */
  deliverySeq: integer('delivery_seq').notNull(),
  /** The newest message that a person wrote as this agent; 0 for none. It answers everything before it. */
  answeredSeq: integer('answered_seq').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.threadId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.threadId], foreignColumns: [threads.accountId, threads.id] }),
  index('thread_agents_thread').on(t.accountId, t.threadId),
])

/** Number of messages between two endpoints per hour and per UTC day, counted by the follower `traffic`. No row id. */
export const traffic = sqliteTable('traffic', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The length of the period in milliseconds, an hour or a day, and its start. */
  periodMs: integer('period_ms').notNull(),
  at: integer('at').notNull(),
  /**
   * An agent's id. For another account's agent, its alias in the message, with `@`. Source and target are empty in the
   * count of all messages that the account sent.
   */
  source: text('source').notNull(),
  /** Like `source`, or a channel's id. */
  target: text('target').notNull(),
  messages: integer('messages').notNull(),
  /** How many of the messages replied to another message, and the sum of their response times. */
  answers: integer('answers').notNull(),
  answerMs: integer('answer_ms').notNull(),
  lastAt: integer('last_at').notNull(),
}, (t) => [
  // The time comes last, so that a sum over each pair reads rows in order.
  primaryKey({ columns: [t.accountId, t.periodMs, t.source, t.target, t.at] }),
  index('traffic_at').on(t.periodMs, t.at),
])

/** How far a user has read a thread. */
export const threadSeen = sqliteTable('thread_seen', {
  accountId: text('account_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  threadId: integer('thread_id').notNull(),
  seq: integer('seq').notNull(),
  /** The user dismissed all messages up to this one, so none of them waits for an answer. */
  dismissedSeq: integer('dismissed_seq').notNull().default(0),
  /**
   * The newest message that concerns the user without being addressed to them, because it mentions them or they follow
   * the channel.
   */
  newsSeq: integer('news_seq').notNull().default(0),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId, t.threadId] }),
  foreignKey({ columns: [t.accountId, t.threadId], foreignColumns: [threads.accountId, threads.id] }),
  index('thread_seen_thread').on(t.accountId, t.threadId),
])

/** The agents, of type `human`, as which users take part in an account's conversations. */
export const personAliases = sqliteTable('person_aliases', {
  accountId: text('account_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  agentId: text('agent_id').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  uniqueIndex('person_aliases_agent').on(t.accountId, t.agentId),
])

/** The VAPID key pair (RFC 8292), in a single row. Browsers subscribe with the public key, so it never changes. */
export const pushKeys = sqliteTable('push_keys', {
  id: text('id').primaryKey(),
  publicKey: text('public_key').notNull(),
  ...sealedToken(),
  createdAt: integer('created_at').notNull(),
})

/** The key pairs for signing agent cards. The newest one signs. */
export const signingKeys = sqliteTable('signing_keys', {
  /** The `kid` of its signatures. */
  id: text('id').primaryKey(),
  /** The public key as a JWK in JSON. @see RFC 7517 */
  publicKey: text('public_key').notNull(),
  ...optionalSealedToken(),
  /** The creation time, which is later than the time of every older key. */
  createdAt: integer('created_at').notNull(),
}, (t) => [uniqueIndex('signing_keys_created').on(t.createdAt)])

/** Browsers that are notified of messages to a person. See docs/web.md, "Notifications". */
export const pushSubscriptions = sqliteTable('push_subscriptions', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  userId: text('user_id').notNull(),
  /** The browser's session. Not a foreign key, because removing a session does not look for references. */
  sessionId: text('session_id').notNull(),
  endpoint: text('endpoint').notNull(),
  /** The keys for encrypting notifications, both in base64url. @see RFC 8291 */
  p256dh: text('p256dh').notNull(),
  auth: text('auth').notNull(),
  userAgent: text('user_agent').notNull(),
  createdAt: integer('created_at').notNull(),
  lastSuccessAt: integer('last_success_at'),
  failures: integer('failures').notNull().default(0),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.userId], foreignColumns: [personAliases.accountId, personAliases.userId] })
    .onDelete('cascade'),
  uniqueIndex('push_subscriptions_endpoint').on(t.endpoint, t.accountId),
  index('push_subscriptions_user').on(t.accountId, t.userId),
  index('push_subscriptions_session').on(t.sessionId),
])

/**
 * A browser's notifications: one row per thread and kind whose messages the browser did not show, or showed recently.
 */
export const pushNotices = sqliteTable('push_notices', {
  accountId: text('account_id').notNull(),
  subscriptionId: text('subscription_id').notNull(),
  threadId: integer('thread_id').notNull(),
  /**
   * The meaning of `firstSeq` and `lastSeq`. `message`: deliveries to the person, by `seq`; `news`:
   * `thread_seen.news_seq`; `held`: held messages, by time, with thread 0.
   */
  kind: text('kind', { enum: ['message', 'news', 'held'] }).notNull(),
  firstSeq: integer('first_seq').notNull(),
  lastSeq: integer('last_seq').notNull(),
  /** When to notify or retry; null if nothing is pending. */
  dueAt: integer('due_at'),
  tries: integer('tries').notNull().default(0),
  /** When the browser was last notified of the thread; 0 for never. */
  pushedAt: integer('pushed_at').notNull().default(0),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.subscriptionId, t.threadId, t.kind] }),
  foreignKey({
    columns: [t.accountId, t.subscriptionId],
    foreignColumns: [pushSubscriptions.accountId, pushSubscriptions.id],
  }).onDelete('cascade'),
  index('push_notices_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
  index('push_notices_pushed').on(t.pushedAt).where(sql`due_at IS NULL`),
])

export const mailDigests = sqliteTable('mail_digests', {
  accountId: text('account_id').notNull(),
  userId: text('user_id').notNull(),
  period: text('period', { enum: ['hourly', 'daily'] }).notNull(),
  /** When the next digest is due. The process that advances this time sends the email. */
  nextAt: integer('next_at').notNull(),
  /** The newest delivery covered by an email. */
  notifiedSeq: integer('notified_seq').notNull().default(0),
  /** The newest `thread_seen.news_seq` covered by an email. */
  notifiedNewsSeq: integer('notified_news_seq').notNull().default(0),
  /** Token that only permits unsubscribing from the emails. Every email contains it, so it is stored as plain text. */
  token: text('token').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId] }),
  foreignKey({ columns: [t.accountId, t.userId], foreignColumns: [personAliases.accountId, personAliases.userId] })
    .onDelete('cascade'),
  uniqueIndex('mail_digests_token').on(t.token),
  index('mail_digests_next').on(t.nextAt),
])

/** Conditions on the Attention page that a user has snoozed. */
export const snoozes = sqliteTable('snoozes', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  kind: text('kind').notNull(),
  subject: text('subject').notNull(),
  until: integer('until').notNull(),
  /** The severity when it was snoozed. The item is shown again if it becomes more severe. */
  level: integer('level').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId, t.kind, t.subject] }),
  index('snoozes_until').on(t.until),
])

/** Tables whose rows SQLite stores by primary key (`WITHOUT ROWID`). Drizzle cannot express this. */
export const tablesWithoutRowid: readonly string[] = [
  'conversation_turns',
  'deliveries',
  'traffic',
  'leases',
  'thread_agents',
  'thread_messages',
  'usage',
]

/** A channel that is mirrored with a Slack channel. Its agent stores the API's address and the bot's token. */
export const slackChannels = sqliteTable('slack_channels', {
  accountId: text('account_id').notNull(),
  /** Random part of the address to which Slack sends events. */
  id: text('id').notNull(),
  channelId: text('channel_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The ids in Slack of the channel and of the bot's user. */
  slackChannel: text('slack_channel').notNull(),
  /** The ids of the workspace and the app in Slack. Null until the first event contains them. */
  teamId: text('team_id'),
  appId: text('app_id'),
  botUser: text('bot_user').notNull(),
  /** The secret with which Slack signs events. */
  ...sealedToken(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  uniqueIndex('slack_channels_id').on(t.id),
  uniqueIndex('slack_channels_channel').on(t.accountId, t.channelId),
  uniqueIndex('slack_channels_agent').on(t.accountId, t.agentId),
])

/** The messages that exist in both channels, regardless of which one they were written in. */
export const slackMessages = sqliteTable('slack_messages', {
  accountId: text('account_id').notNull(),
  slackId: text('slack_id').notNull(),
  /** The ids in Slack of the message and of the first message in its thread. */
  ts: text('ts').notNull(),
  threadTs: text('thread_ts').notNull(),
  messageId: text('message_id').notNull(),
  conversationId: text('conversation_id'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.slackId, t.ts] }),
  foreignKey({ columns: [t.accountId, t.slackId], foreignColumns: [slackChannels.accountId, slackChannels.id] })
    .onDelete('cascade'),
  foreignKey({ columns: [t.accountId, t.messageId], foreignColumns: [messages.accountId, messages.id] })
    .onDelete('cascade'),
  index('slack_messages_message').on(t.accountId, t.messageId),
  index('slack_messages_conversation').on(t.accountId, t.slackId, t.conversationId, t.ts),
])

/** A person's Slack user. `slack_user` is null until the person has posted their code in Slack. */
export const slackPeople = sqliteTable('slack_people', {
  accountId: text('account_id').notNull(),
  slackId: text('slack_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id, { onDelete: 'cascade' }),
  /** SHA-256 of the code; null once it has been used. */
  codeHash: text('code_hash'),
  expiresAt: integer('expires_at').notNull(),
  slackUser: text('slack_user'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.slackId, t.userId] }),
  foreignKey({ columns: [t.accountId, t.slackId], foreignColumns: [slackChannels.accountId, slackChannels.id] })
    .onDelete('cascade'),
  uniqueIndex('slack_people_user').on(t.accountId, t.slackId, t.slackUser).where(sql`slack_user IS NOT NULL`),
  index('slack_people_person').on(t.userId),
])

/** The provider with which people sign in to an account. See docs/people.md, "Single sign-on". */
export const ssoProviders = sqliteTable('sso_providers', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  issuer: text('issuer').notNull(),
  clientId: text('client_id').notNull(),
  /** The client secret. */
  ...sealedToken(),
  /** The domain in lower case. */
  domain: text('domain').notNull(),
  /** The expected content of the domain's TXT record. */
  proof: text('proof').notNull(),
  /**
   * Null until the record was found, and again after it has been missing for too long. A provider without this time
   * cannot sign anyone in.
   */
  verifiedAt: integer('verified_at'),
  /** Since when the record has been missing; null if it was found. */
  missingSince: integer('missing_since'),
  checkedAt: integer('checked_at').notNull().default(0),
  isRequired: flag('is_required').notNull().default(false),
  /** The claim that determines roles, and the role for each of its values. Empty if there is none. */
  roleClaim: text('role_claim').notNull().default(''),
  roles: text('roles', { mode: 'json' }).$type<Record<string, 'admin' | 'member' | 'viewer'>>().notNull(),
  /** The claim with the address, if the issuer is trusted; empty for `email`. */
  emailClaim: text('email_claim').notNull().default(''),
  /** The owner has declared the domain's addresses to be verified. */
  isTrusted: flag('is_trusted').notNull().default(false),
  /** Additional scopes to request, separated by spaces. */
  scopes: text('scopes').notNull().default(''),
  /** Why the provider did not respond when it was saved, or empty. With a reason, it is a draft and signs nobody in. */
  draft: text('draft').notNull().default(''),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('sso_providers_account').on(t.accountId),
  uniqueIndex('sso_providers_id').on(t.id),
  uniqueIndex('sso_providers_domain').on(t.domain).where(sql`verified_at IS NOT NULL`),
  index('sso_providers_checked').on(t.checkedAt),
])

/** The latest sign-in of each identity with an account's provider, including refused ones. */
export const ssoSignIns = sqliteTable('sso_sign_ins', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  /** The user who signed in. If the sign-in was refused because of a removed member, that member. Otherwise null. */
  userId: text('user_id'),
  at: integer('at').notNull(),
  outcome: text('outcome', { enum: ['ok', 'no_address', 'not_verified', 'other_domain', 'removed', 'address_taken'] })
    .notNull(),
  /** The data that the provider reported. */
  report: text('report', { mode: 'json' }).$type<SignInReport>().notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.issuer, t.subject] }),
  index('sso_sign_ins_at').on(t.accountId, t.at),
])

/** A provider's data about a user, shown to the account's owners. */
export interface SignInReport {
  /** The user's address, if the provider reported one. */
  email: string | null
  isVerified: boolean
  /** The values of the role claim. */
  roles: string[]
  /** The names of the received claims. */
  claims: string[]
  /** The names of the requested claims that are missing. */
  missing: string[]
  /**
   * `overage`: groups are only available elsewhere (`_claim_names`). `userinfo`: the endpoint failed. Roles stay the
   * same.
   */
  notes: ('overage' | 'userinfo')[]
}

/** Users' identities at providers. Email addresses are not used to find them. */
export const ssoIdentities = sqliteTable('sso_identities', {
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  userId: text('user_id').notNull().references(() => users.id, { onDelete: 'cascade' }),
  /** The address that the issuer reported when the identity was linked to the user; null if it reported none. */
  email: text('email'),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.issuer, t.subject] }), index('sso_identities_user').on(t.userId)])
