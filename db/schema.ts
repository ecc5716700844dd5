/**
 * Every table of the grid. Account tables have `account_id` in their primary key and in every foreign key, so SQLite itself
 * refuses a row that references another account. Times are milliseconds since the epoch, ids are UUIDv7 text, aliases are
 * stored without `@`.
 */
import { sql } from 'drizzle-orm'
import { blob, foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

const flag = (name: string) => integer(name, { mode: 'boolean' })

/** The id of the attempt that used it last: a unit that is sent again, because its answer was lost, finds its own mark. */
const usedBy = () => text('used_by')

/** A sealed token or key: AES-256-GCM in base64, in no response. `tokenKeyId` names the key of the key ring. */
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

/** Facts about the database. `epoch` names its history, and cursors contain it. See docs/delivery.md, "Cursors". */
export const storeFacts = sqliteTable('store_facts', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
})

/**
 * The tenants. `provisional`: opened by a signup and not claimed yet. `removed`: not claimed in time; only the ids are left.
 * `removing`: its rows are removed in pieces. `importing`: an archive is being read, and its agents are hidden.
 */
export const accounts = sqliteTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  state: text('state', { enum: ['provisional', 'claimed', 'removing', 'removed', 'importing'] }).notNull(),
  /** Further signups for this normalized email address join the account; null if it is closed to them. */
  joinEmail: text('join_email'),
  createdAt: integer('created_at').notNull(),
  claimedAt: integer('claimed_at'),
  requiresSecondFactor: flag('requires_second_factor').notNull().default(false),
  /** Whether the texts of blocked messages are kept for its people to see. */
  peopleSeeContents: flag('people_see_contents').notNull().default(false),
  turnLimits: text('turn_limits', { mode: 'json' }).$type<{ warn?: number; perHour?: number; hops?: number }>(),
  /** Since when owners and admins may read what agents write to each other: 0 for all of it, null for nothing. */
  peopleReadSince: integer('people_read_since'),
  /** When its owner deleted it, or it began to be removed: it is shown to no one else, and comes back within 7 days. */
  deletedAt: integer('deleted_at'),
  /** Limits of the account; null: the limits of the settings. */
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
  /** Registered with an invitation whose link the inviter was shown, so that the inviter may have done it. */
  registeredByShownLink: flag('registered_by_shown_link').notNull().default(false),
  shortcuts: flag('shortcuts').notNull().default(true),
}, (t) => [uniqueIndex('users_email').on(t.email)])

export const memberships = sqliteTable('memberships', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  role: text('role', { enum: ['owner', 'admin', 'member', 'viewer'] }).notNull(),
  createdAt: integer('created_at').notNull(),
  /** The role came from the claim of the provider, and not from a person here. */
  roleByClaim: flag('role_by_claim').notNull().default(false),
}, (t) => [primaryKey({ columns: [t.accountId, t.userId] }), index('memberships_user').on(t.userId)])

/** Users whom a person removed from the account. They stay out until a person lets them in again. */
export const removedMembers = sqliteTable('removed_members', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  /** The address of the user at the removal. */
  email: text('email').notNull(),
  removedAt: integer('removed_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.userId] }), index('removed_members_user').on(t.userId)])

/** Browser sessions. The cookie holds the token of the session, the table only its SHA-256. */
export const sessions = sqliteTable('sessions', {
  id: text('id').primaryKey(),
  userId: text('user_id').notNull().references(() => users.id),
  tokenHash: text('token_hash').notNull(),
  createdAt: integer('created_at').notNull(),
  lastSeenAt: integer('last_seen_at').notNull(),
  /** The absolute expiry; an idle session expires earlier. */
  expiresAt: integer('expires_at').notNull(),
  endedAt: integer('ended_at'),
  userAgent: text('user_agent').notNull().default(''),
  address: text('address').notNull().default(''),
  /** A half session: the user has a second factor and has not given it yet. It does not sign the user in. */
  awaitsSecondFactor: flag('awaits_second_factor').notNull().default(false),
  /** When the user last proved who they are. */
  confirmedAt: integer('confirmed_at'),
  /** The account whose provider has signed the user in: the session opens no other. */
  onlyAccount: text('only_account'),
  /** The identity that has begun the session; null if none has. */
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
  /** The signature counter; it stays 0 for passkeys that are synchronized between devices. */
  counter: integer('counter').notNull(),
  transports: text('transports', { mode: 'json' }).$type<string[]>().notNull(),
  name: text('name').notNull(),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  usedBy: usedBy(),
}, (t) => [uniqueIndex('passkeys_credential').on(t.credentialId), index('passkeys_user').on(t.userId)])

/** Challenges of passkeys, and sign-ins that go on at a provider (`sso`). Each is answered once. */
export const signInChallenges = sqliteTable('sign_in_challenges', {
  hash: text('hash').primaryKey(),
  purpose: text('purpose', { enum: ['sign_in', 'confirm', 'register', 'sso'] }).notNull(),
  /** SHA-256 of the CSRF token of the page, or of the cookie: only the same session or browser may answer. */
  holder: text('holder').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedBy: usedBy(),
}, (t) => [index('sign_in_challenges_expire').on(t.expiresAt)])

export const totps = sqliteTable('totps', {
  userId: text('user_id').primaryKey().references(() => users.id),
  ...sealedToken(),
  /** The time step of the last accepted code: the code of this step and of earlier ones are refused. */
  lastStep: integer('last_step').notNull().default(0),
  createdAt: integer('created_at').notNull(),
  /** Null until the user has entered a first code. Only then it is a second factor. */
  confirmedAt: integer('confirmed_at'),
  usedBy: usedBy(),
})

/** The recovery codes of users, as SHA-256. One with `usedBy` is used up. */
export const recoveryCodes = sqliteTable('recovery_codes', {
  userId: text('user_id').notNull().references(() => users.id),
  hash: text('hash').notNull(),
  usedBy: usedBy(),
}, (t) => [primaryKey({ columns: [t.userId, t.hash] })])

/** One-time links. All but `set_up` are sent by email, and using one verifies the email address. */
export const links = sqliteTable('links', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['set_up', 'sign_in', 'verify', 'reset', 'change_email', 'claim'] }).notNull(),
  tokenHash: text('token_hash').notNull(),
  /** Null for `set_up`, which makes the first user, and for `claim`. */
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
  /** Null for the operator, who imported the account. */
  invitedBy: text('invited_by').references(() => users.id),
  /** The agent as which the person took part in the account before it was imported, and does again. */
  agentId: text('agent_id'),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  acceptedAt: integer('accepted_at'),
  /** Withdrawn, or replaced by a newer one for the same address. */
  endedAt: integer('ended_at'),
  /** The inviter was shown the link, so it does not prove the address. */
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

/** Events that limits count, such as sign-ins and emails, for a day. `subject` is a SHA-256 of the user or address. */
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
  /** Unique over all accounts: the alias of a deleted agent stays reserved for its account. */
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
  /** A script: what it sends and reads is never a turn of a conversation. */
  automated: flag('automated').notNull().default(false),
  /** Its plain reply is the answer over A2A itself, and not the result of a task. */
  messageReplies: flag('message_replies').notNull().default(false),
  /** Whether calls over A2A wait for its answer; `auto`: while it is connected, or has messages on a lease that expires. */
  callersWait: text('callers_wait', { enum: ['auto', 'yes', 'no'] }).notNull().default('auto'),
  /** The account that it was moved to, under the same id. This row is deleted, and its alias belongs to that account. */
  movedTo: text('moved_to').references(() => accounts.id),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.signupId], foreignColumns: [signups.accountId, signups.id] }),
  // Only among live agents: the account may create an agent with the alias of a deleted one.
  uniqueIndex('agents_live_alias').on(t.alias).where(sql`deleted_at IS NULL`),
  index('agents_alias').on(t.alias),
  index('agents_of_account').on(t.accountId, t.alias).where(sql`deleted_at IS NULL`),
  index('agents_public').on(t.alias).where(sql`visibility = 'public' AND deleted_at IS NULL`),
])

/**
 * The number of each agent, which names its inbox and its row in `agent_search`, an FTS5 table that drizzle does not know.
 * `addAgent` adds the number, and triggers keep the index.
 */
export const agentNumbers = sqliteTable('agent_numbers', {
  n: integer('n').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The unread messages of the inbox, which triggers on `deliveries` count. */
  unread: integer('unread').notNull().default(0),
  /** How many messages the inbox refused because it was full, on the day of the last one: its first millisecond. */
  refused: integer('refused').notNull().default(0),
  refusedOn: integer('refused_on').notNull().default(0),
}, (t) => [
  uniqueIndex('agent_numbers_agent').on(t.accountId, t.agentId),
  uniqueIndex('agent_numbers_inbox').on(t.accountId, t.n),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** The agents of other accounts that may (`allow_list`) or may not (`block_list`) write to a public agent. */
export const agentAccess = sqliteTable('agent_access', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  alias: text('alias').notNull(),
  /** Nobody had the alias when it was listed, and no person has confirmed since who took it. No `allow_list` lets it in. */
  pending: flag('pending').notNull().default(false),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.alias] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  // Without the account, for a new alias.
  index('agent_access_alias').on(t.alias),
  index('agent_access_pending').on(t.accountId).where(sql`pending`),
])

/** The message allowance of an agent that registered itself. An agent without a row has no limit. */
export const trials = sqliteTable('trials', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  used: integer('used').notNull().default(0),
  max: integer('max').notNull(),
  expiresAt: integer('expires_at').notNull(),
  /** When its end was noticed. It stays ended when the clock goes back. */
  endedAt: integer('ended_at'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId] }),
  index('trials_to_end').on(t.expiresAt).where(sql`${t.endedAt} IS NULL`),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** Agent keys and admin keys. Only the SHA-256 of a key is stored, with its last four characters for display. */
export const credentials = sqliteTable('credentials', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  kind: text('kind', { enum: ['agent_key', 'admin_key'] }).notNull(),
  agentId: text('agent_id'),
  /** The user whose role the key depends on: who created the admin key, or whose client fetched the agent key. */
  userId: text('user_id').references(() => users.id),
  name: text('name').notNull().default(''),
  hash: text('hash').notNull(),
  last4: text('last4').notNull(),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  revokedAt: integer('revoked_at'),
  /** The grant with which a client fetched the key. No foreign key: ended grants are removed, and their keys are dead. */
  grantId: text('grant_id'),
  /** The admin who was shown the agent key when it was made. The key does not depend on them. */
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
  /** The person learns of all posts. */
  follows: flag('follows').notNull().default(false),
  /** Which posts wake the agent; null: all in a channel of at most five members, in others those that name it. */
  wake: text('wake', { enum: ['all', 'mentions', 'none'] }),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.channelId, t.agentId] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('channel_members_agent').on(t.accountId, t.agentId, t.channelId),
  index('channel_members_following').on(t.accountId, t.channelId).where(sql`follows`),
])

/**
 * "I work on this", said by an agent about a name, for some time. A repeat is a new row, so `n` rises with whatever others
 * have to respect. See docs/protocol/reservations.md.
 */
export const reservations = sqliteTable('reservations', {
  n: integer('n').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  /** What the names are in: a repository, or empty for the account. */
  space: text('space').notNull(),
  /** With wildcards, as `normaliseName` makes it. */
  name: text('name').notNull(),
  shared: flag('shared').notNull(),
  note: text('note').notNull(),
  /** The task that it ends with, and the account of that. */
  taskId: text('task_id'),
  taskHome: text('task_home'),
  createdAt: integer('created_at').notNull(),
  /** For how long it was made. It goes on by as much while its agent calls tools. */
  lengthMs: integer('length_ms').notNull(),
  endsAt: integer('ends_at').notNull(),
  /** The last call of a tool that is known, and when that was last looked at. */
  calledAt: integer('called_at').notNull(),
  lookedAt: integer('looked_at').notNull(),
  /** Who was refused because of it: a list of agent ids with times. They get a message when it ends. */
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
  /** The service that gets the texts, as `host` of a URL; null for a local provider. */
  host: text('host'),
  ...optionalSealedToken(),
  /** It is attached to every agent that is added, by `addAgent`. */
  allAgents: text('all_agents', { enum: ['inbound', 'outbound', 'both'] }),
  /** Since when every check failed, and why the last one did, as tenants may know it; null while it works. */
  failingSince: integer('failing_since'),
  failure: text('failure'),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.id] }), uniqueIndex('guardrails_name').on(t.accountId, t.name)])

export const agentGuardrails = sqliteTable('agent_guardrails', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  direction: text('direction', { enum: ['inbound', 'outbound', 'both'] }).notNull(),
  /** Overrides the action of the guardrail for this agent. */
  action: text('action', { enum: ['block', 'hold', 'redact', 'flag'] }),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.guardrailId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.guardrailId], foreignColumns: [guardrails.accountId, guardrails.id] }),
  index('agent_guardrails_guardrail').on(t.accountId, t.guardrailId, t.agentId),
])

/** What people allow guardrails to do with the messages of their alias: send the texts to this host. */
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

/** Which messages of an account wait for the decision of a person, from whom, to whom, and on what condition. */
export const approvalRules = sqliteTable('approval_rules', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  name: text('name').notNull(),
  /** `any`: every agent, also of other accounts. `external`: agents and people of other accounts. */
  fromKind: text('from_kind', { enum: ['agent', 'any', 'external', 'people', 'remote'] }).notNull(),
  /** With the kind `agent`: its id. */
  fromId: text('from_id'),
  /** `any`: also people and channels. */
  toKind: text('to_kind', { enum: ['agent', 'any', 'external', 'people', 'remote', 'channel'] }).notNull(),
  /** With the kinds `agent` and `channel`: its id. */
  toId: text('to_id'),
  condition: text('condition', { enum: ['always', 'finding', 'parts'] }).notNull(),
  /** For findings: only findings of this guardrail; null for any. */
  guardrailId: text('guardrail_id'),
  /** For parts: those whose media type begins so; null for any. */
  mediaType: text('media_type'),
  /** For parts: the minimum size in bytes; null for any. */
  minBytes: integer('min_bytes'),
  /** The ids of users. If none of them is a member any more, or none is named, the owners decide. */
  deciders: text('deciders', { mode: 'json' }).notNull(),
  /** How long a message waits; then it is refused. */
  expiresMs: integer('expires_ms').notNull(),
  enabled: flag('enabled').notNull(),
  /** A person who decides must have proved lately who they are. */
  isRisky: flag('is_risky').notNull(),
  createdAt: integer('created_at').notNull(),
  updatedAt: integer('updated_at').notNull(),
}, (t) => [primaryKey({ columns: [t.accountId, t.id] }), uniqueIndex('approval_rules_name').on(t.accountId, t.name)])

/**
 * What guardrails objected to, in the account of the guardrail, which may not be the sender's. No foreign keys: a row outlives
 * guardrail and message.
 */
export const verdicts = sqliteTable('verdicts', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  guardrailName: text('guardrail_name').notNull(),
  direction: text('direction', { enum: ['inbound', 'outbound'] }).notNull(),
  /**
   * What happened to the message. Without an answer of the guardrail: `unchecked` if the message was delivered,
   * otherwise `failed`.
   */
  action: text('action', { enum: ['blocked', 'held', 'redacted', 'flagged', 'unchecked', 'failed'] }).notNull(),
  kinds: text('kinds').notNull(),
  agentIds: text('agent_ids').notNull(),
  senderAlias: text('sender_alias').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  /** As addressed: `@alias` or `#name`. */
  recipient: text('recipient').notNull(),
  /** Null if the message was not delivered, and so not stored. */
  messageId: text('message_id'),
  /** SHA-256 of the conversation id that the sender gave, which may have what was found. */
  conversationHash: text('conversation_hash'),
  textHash: text('text_hash').notNull(),
  /** That text, if it was blocked and the people of the account may see it; removed after 7 days. */
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

/** Texts that a guardrail lets pass, because people found that it was wrong about them. */
export const guardrailExceptions = sqliteTable('guardrail_exceptions', {
  accountId: text('account_id').notNull(),
  guardrailId: text('guardrail_id').notNull(),
  textHash: text('text_hash').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.guardrailId, t.textHash] }),
  foreignKey({ columns: [t.accountId, t.guardrailId], foreignColumns: [guardrails.accountId, guardrails.id] }),
])

/** Sends with an idempotency key that a guardrail blocked: a repeat is answered with the same error. Kept for 7 days. */
export const blockedSends = sqliteTable('blocked_sends', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  key: text('key').notNull(),
  requestHash: text('request_hash').notNull(),
  /** JSON: the message and the details of the error. */
  error: text('error').notNull(),
  createdAt: integer('created_at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.key] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('blocked_sends_created').on(t.createdAt),
])

/** Sent messages, in the account of the sender. `seq` is the order of storing over all accounts, which `projections` follow. */
export const messages = sqliteTable('messages', {
  /** Negative while it is held, and so before everything that follows the log. It is numbered anew when it is delivered. */
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  fromAgentId: text('from_agent_id').notNull(),
  fromAlias: text('from_alias').notNull(),
  type: text('type', { enum: ['agent', 'human', 'system'] }).notNull(),
  /** As addressed: `@alias`, or `#name` of a channel. */
  recipient: text('recipient').notNull(),
  channelId: text('channel_id'),
  replyToMessageId: text('reply_to_message_id'),
  conversationId: text('conversation_id'),
  flagged: flag('flagged').notNull().default(false),
  createdAt: integer('created_at').notNull(),
  /** The number of the message in the trial of its sender: 1, 2, 3 …; null for a sender without a trial. */
  trialNumber: integer('trial_number'),
  /** Invisible characters were removed from it before it was stored. */
  sanitized: flag('sanitized').notNull().default(false),
  /** How many answers led to it: one more than the message that it replies to. */
  hops: integer('hops').notNull().default(0),
  /** The hosts that guardrails of people sent its text to, separated by a comma and a space; null for none. */
  sharedWith: text('shared_with'),
  /** A person who decided on it changed its text. */
  edited: flag('edited').notNull().default(false),
  /** Where it was written, if not in the grid: in Slack, or by a program outside that knows the address of a hook. */
  via: text('via', { enum: ['slack', 'hook'] }),
  /** The span that sent it, while the process sends traces. @see W3C Trace Context §3.2 */
  traceparent: text('traceparent'),
  // Last, because SQLite reads a row from its beginning: what only follows the log does not load the texts.
  body: text('body').notNull(),
  /** The A2A fields of a message received over A2A, without the large `parts`. */
  a2a: text('a2a', { mode: 'json' }),
}, (t) => [
  uniqueIndex('messages_id').on(t.accountId, t.id),
  foreignKey({ columns: [t.accountId, t.fromAgentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.channelId], foreignColumns: [channels.accountId, channels.id] }),
  // A reply may come from another account, so the index has no account.
  index('messages_reply').on(t.replyToMessageId).where(sql`reply_to_message_id IS NOT NULL`),
  // Messages that ask a person to choose. They are few.
  index('messages_choices').on(t.accountId, t.seq).where(sql`substr(a2a, 1, 12) = '{"choices":['`),
])

/**
 * Messages that wait for the decision of a person, and the decisions. A message may be held by its own account, and then by
 * the account of its recipient. While one of its rows is `held` it has no delivery.
 */
export const heldMessages = sqliteTable('held_messages', {
  /** The account whose people decide. */
  accountId: text('account_id').notNull().references(() => accounts.id),
  id: text('id').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  fromAgentId: text('from_agent_id').notNull(),
  /** The agent or channel that it is for. */
  toId: text('to_id').notNull(),
  /** The task in which its sender, as the recipient of the task, says something with it. */
  taskId: text('task_id'),
  /** `joined`: a later message has its content, because it is the next chunk of the same artifact. */
  state: text('state', { enum: ['held', 'approved', 'refused', 'expired', 'retracted', 'joined'] }).notNull(),
  /** As it was then: `HoldingRule`. */
  rule: text('rule', { mode: 'json' }).notNull(),
  /** What guardrails of the account objected to: a list of `HeldFinding`. */
  findings: text('findings', { mode: 'json' }).notNull(),
  /** What its delivery needs that the message does not say: `HeldDelivery`. */
  later: text('later', { mode: 'json' }).notNull(),
  /** When it was sent. */
  sentAt: integer('sent_at').notNull(),
  heldAt: integer('held_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  decidedAt: integer('decided_at'),
  /** The user, and what the account calls them; null if the grid itself refused it. */
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

/** Messages that are sent at a time. Until then they are no messages: nothing has their number, and no cursor passes them. */
export const scheduledMessages = sqliteTable('scheduled_messages', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  sendAt: integer('send_at').notNull(),
  /** As addressed. */
  recipient: text('recipient').notNull(),
  /** What is sent: `ScheduledContent`. */
  content: text('content', { mode: 'json' }).notNull(),
  bytes: integer('bytes').notNull(),
  /** The idempotency key of the call, and what a repeat must equal. */
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

/** Parts of messages that are too large for an inbox. */
export const parts = sqliteTable('parts', {
  accountId: text('account_id').notNull(),
  /** The id of the message, a dot and a name. */
  id: text('id').notNull(),
  messageId: text('message_id').notNull(),
  mediaType: text('media_type').notNull(),
  /** `upload`: the content is the id of an upload. */
  encoding: text('encoding', { enum: ['utf8', 'base64', 'upload'] }).notNull(),
  content: text('content').notNull(),
  /** The length of what `content` stands for. */
  bytes: integer('bytes').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.messageId], foreignColumns: [messages.accountId, messages.id] }),
  index('parts_message').on(t.accountId, t.messageId),
])

/** Files that agents upload before a message names them. Those that none names in time are removed. */
export const uploads = sqliteTable('uploads', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  filename: text('filename'),
  mediaType: text('media_type'),
  /** As declared. */
  bytes: integer('bytes').notNull(),
  /** How many have come: the lengths of its rows. */
  received: integer('received').notNull().default(0),
  /** The message that names it. */
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

/** The content of an upload in rows of 64 KiB. The last may be shorter. */
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
 * One row per message and recipient: the inbox of the recipient, in whose account it is. In the order of the messages, and
 * without a row id: new rows come last.
 */
export const deliveries = sqliteTable('deliveries', {
  /** The message, by its number. It orders every inbox. */
  seq: integer('seq').notNull().references(() => messages.seq),
  /** The recipient, by the number of its agent. */
  inbox: integer('inbox').notNull(),
  accountId: text('account_id').notNull(),
  /**
   * `task`: it is in its task alone. The last three ended unread. `withdrawn`: the task was canceled; `expired`: its time
   * was over; `retracted`: by its sender.
   */
  state: text('state', { enum: ['unread', 'read', 'parked', 'task', 'withdrawn', 'expired', 'retracted'] }).notNull(),
  /** UTF-16 units of text and inline A2A fields, so that a read can respect its limit without loading messages. */
  chars: integer('chars').notNull(),
  createdAt: integer('created_at').notNull(),
  /** When it left `unread`: it was leased or parked. */
  readAt: integer('read_at'),
  /** The lease, also after it was acked. */
  leaseId: text('lease_id'),
  releaseCount: integer('release_count').notNull().default(0),
  /** When a waiting read or stream was woken for it; null if none was waiting, or a read took it first. */
  wokenAt: integer('woken_at'),
  /** The sender, if it is an agent of another account, or was moved to one: the recipient may write back to it. */
  externalId: text('external_id'),
  /** The id of the message, if it is stored in another account: the recipient finds it by this id. */
  externalMessageId: text('external_message_id'),
  /** The text, if a guardrail of the recipient redacted it for this delivery; otherwise the text of the message. */
  body: text('body'),
  /** The A2A fields in the same way, as a whole. Then the parts of the message are not for this recipient. */
  a2a: text('a2a'),
  flagged: flag('flagged').notNull().default(false),
  /** It waits in the inbox, and wakes nobody: see `wake` of `channel_members`. */
  quiet: flag('quiet').notNull().default(false),
  /** The task that the message belongs to, of the account of its client. Reading the message makes it `working`. */
  taskId: text('task_id'),
  /** When it is not given to a reader any more, if it is unread then; null for never. */
  expiresAt: integer('expires_at'),
}, (t) => [
  primaryKey({ columns: [t.seq, t.inbox] }),
  foreignKey({ columns: [t.accountId, t.inbox], foreignColumns: [agentNumbers.accountId, agentNumbers.n] }),
  // The two halves of an inbox. The planner would prefer a full index, and filter the whole history.
  index('deliveries_unread').on(t.inbox, t.seq, t.chars, t.expiresAt).where(sql`state = 'unread'`),
  index('deliveries_read').on(t.inbox, t.seq).where(sql`state = 'read'`),
  // Messages that were released and then leased again. They are few, and the newest lease may be among them.
  index('deliveries_redelivered').on(t.inbox, t.seq).where(sql`state = 'read' AND release_count > 0`),
  index('deliveries_sender').on(t.inbox, t.externalId).where(sql`external_id IS NOT NULL`),
  index('deliveries_external').on(t.externalMessageId).where(sql`external_message_id IS NOT NULL`),
  // What needs a person: messages that come back again and again, and those that cannot be delivered.
  index('deliveries_returned').on(t.accountId, t.inbox).where(sql`state = 'unread' AND release_count > 2`),
  index('deliveries_expire').on(t.expiresAt).where(sql`state = 'unread' AND expires_at IS NOT NULL`),
  index('deliveries_parked').on(t.accountId, t.readAt).where(sql`state = 'parked'`),
])

/** Leases that are neither acked nor released. One that was given up, because the answer of its claim was lost, has no messages. */
export const leases = sqliteTable('leases', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  id: text('id').notNull(),
  /** The process that sends the response; of a lease that expires, the credential that made it. */
  holder: text('holder').notNull(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at'),
  /** Its id is that of a message whose sender waits for the answer, which goes to this lease and not to the inbox. */
  awaitsAnswer: flag('awaits_answer').notNull().default(false),
  /** The idempotency key of the send that took it as `next`. */
  key: text('key'),
  /**
   * The numbers of the messages that it began with, as a JSON array; null while it waits for one. They say where to look:
   * whether a message is still in the lease, its delivery says.
   */
  seqs: text('seqs'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('leases_awaiting').on(t.accountId, t.agentId).where(sql`awaits_answer = 1`),
  // Leases of plain reads are not in it, so it costs them nothing.
  index('leases_timed').on(t.accountId, t.agentId, t.expiresAt).where(sql`expires_at IS NOT NULL`),
])

/** The processes that serve a remote database. `heartbeats` rises while a process lives; the others watch it. */
export const instances = sqliteTable('instances', {
  id: text('id').primaryKey(),
  heartbeats: integer('heartbeats').notNull(),
  createdAt: integer('created_at').notNull(),
  /** Who is at agents through the process, as JSON. See docs/conversations.md, "Presence". */
  present: text('present').notNull(),
  /** The ids of the keys of its key ring, with commas, the newest first. */
  ring: text('ring').notNull(),
})

/**
 * The log: what happened besides new messages, which have an order of their own (`messages.seq`). Followers read both by
 * position; see docs/architecture.md, "After the commit". A row has ids only, and goes once every stored position has passed it.
 */
export const log = sqliteTable('log', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  /**
   * `agent`, `person`: whoever waits for it looks again, because a credential, session or membership ended, a lease was
   * released, or a message of theirs has ended. `task`: the task has a new event. `held`: a message waits for a decision.
   * `reservation`: it has ended.
   */
  kind: text('kind', { enum: ['agent', 'person', 'task', 'held', 'reservation'] }).notNull(),
  /** The id of the agent, user, task, held message or reservation. */
  subject: text('subject').notNull(),
  /** The account of the subject. Null for a person. */
  home: text('home'),
  /** The new state of a task, unless its event is a piece of an artifact. */
  state: text('state'),
  at: integer('at').notNull().default(sql`(unixepoch() * 1000)`),
})

/** Rows of the log that a follower left out, because it failed on them again and again. Kept for a week. */
export const skippedRows = sqliteTable('skipped_rows', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  follower: text('follower').notNull(),
  /** The number of the message, or of the other row of the log. */
  seq: integer('seq').notNull(),
  reason: text('reason').notNull(),
  at: integer('at').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.follower, t.seq] }),
  index('skipped_rows_at').on(t.at),
])

/** Released leases of one delivery, for the timeline of the message. The newest lease is in `deliveries`. */
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

/** The idempotency keys of sends and of updates of tasks: a repeated key of an agent is the same call. Kept for 7 days. */
export const idempotencyKeys = sqliteTable('idempotency_keys', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  key: text('key').notNull(),
  requestHash: text('request_hash').notNull(),
  /** The account of the message: another one if the agent was moved since. An update may have that of its task. */
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** The receipt of the send as JSON; a repeat gets the same one. */
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
 * What happens to messages that expect an answer, in the account of the client; that of the recipient uses
 * `recipient_account_id`. Every change is an event. No foreign key to messages: their retention does not wait for tasks.
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
  /** What the client calls the conversation. */
  contextId: text('context_id').notNull(),
  mode: text('mode', { enum: ['receipt', 'task', 'message'] }).notNull(),
  state: text('state', { enum: taskStates }).notNull(),
  statusAt: integer('status_at').notNull(),
  generation: integer('generation').notNull(),
  createdAt: integer('created_at').notNull(),
  /** When it fails for want of an answer; null once it has ended. 0 when its recipient was deleted. */
  expiresAt: integer('expires_at'),
  /** About how many bytes its messages and artifacts take. Triggers count whatever is added. */
  bytes: integer('bytes').notNull().default(0),
  /** The newest event is a status of the grid: the recipient works on the task, and has said nothing for an hour. */
  quiet: flag('quiet').notNull().default(false),
  /** SHA-256 of the newest message of the client, by which its repeat is found; null if the id of that is no UUID. */
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

/** The messages of a task: those of its client, and those of its recipient about the state. They are not copied. */
export const taskMessages = sqliteTable('task_messages', {
  accountId: text('account_id').notNull(),
  taskId: text('task_id').notNull(),
  senderAccountId: text('sender_account_id').notNull(),
  messageId: text('message_id').notNull(),
  /** `result`: it is the content of an artifact, and not in the history. */
  role: text('role', { enum: ['user', 'agent', 'result'] }).notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.taskId, t.messageId] }),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
  index('task_messages_message').on(t.senderAccountId, t.messageId),
])

/** What happened to tasks, in the order of the commits. `n` counts the events of a task from 1 without gaps. */
export const taskEvents = sqliteTable('task_events', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  taskId: text('task_id').notNull(),
  n: integer('n').notNull(),
  /** Made before the unit: a unit that is sent again finds its own event. */
  id: text('id').notNull(),
  at: integer('at').notNull(),
  /** The new state; null if it is about an artifact, which is in `artifacts` under the same `n`. */
  state: text('state', { enum: taskStates }),
  /** What the recipient said about the state, or its result: a message of that account. Null for nothing. */
  senderAccountId: text('sender_account_id'),
  messageId: text('message_id'),
  /** What the grid itself says about the state, or null. */
  reason: text('reason'),
}, (t) => [
  uniqueIndex('task_events_n').on(t.accountId, t.taskId, t.n),
  uniqueIndex('task_events_id').on(t.accountId, t.taskId, t.id),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
])

/** The results of tasks, one row for each chunk: what an event brought is never written again. */
export const artifacts = sqliteTable('artifacts', {
  accountId: text('account_id').notNull(),
  taskId: text('task_id').notNull(),
  n: integer('n').notNull(),
  artifactId: text('artifact_id').notNull(),
  /** The parts go behind those of the chunks before. Otherwise the artifact begins anew. */
  append: flag('append').notNull(),
  lastChunk: flag('last_chunk').notNull(),
  name: text('name'),
  /** JSON: parts in 1.0 form; null if it is the content of the message of the event. */
  parts: text('parts'),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.taskId, t.n] }),
  foreignKey({ columns: [t.accountId, t.taskId], foreignColumns: [tasks.accountId, tasks.id] })
    .onDelete('cascade').onUpdate('cascade'),
])

/** What clients call their conversations with a recipient, and the id that the server gave each. */
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

/** Requests to an outside server, one at a time. See docs/protocol/remote-agents.md, "How messages are sent". */
const line = () => ({
  /** When the next request is due; null if there is nothing to send. */
  dueAt: integer('due_at'),
  /** Failed attempts since the last one that succeeded, when they began, and why the last one failed. */
  attempts: integer('attempts').notNull().default(0),
  failingSince: integer('failing_since'),
  error: text('error'),
  /** When the last attempt began. */
  triedAt: integer('tried_at'),
  /** The id of the process that makes a request now, and an id of the attempt. */
  claimedBy: text('claimed_by'),
})

/** An agent with a `remote_url`. `addAgent` adds the row. */
export const remoteAgents = sqliteTable('remote_agents', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** What was read of the card of the agent, as JSON; null before it was read. */
  card: text('card'),
  cardAt: integer('card_at'),
  /** How long the answer to a message may take. */
  answerMs: integer('answer_ms').notNull().default(600_000),
  /** The feature that carries its messages, in one order; null for A2A, with an order for each sender. */
  transport: text('transport'),
  /** Since when people keep its messages back; null if they do not. */
  pausedAt: integer('paused_at'),
  /** Random. The tokens of its callbacks are made of it: all that they allow is to make the grid look now. */
  callbackSecret: text('callback_secret').notNull().default(sql`(hex(randomblob(32)))`),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
])

/** The unread messages of one sender to a remote agent. The row comes with the first delivery and goes with the last. */
export const remoteOutboxes = sqliteTable('remote_outboxes', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The agent that sent them, of any account. Empty for all senders, if the remote agent has one order. */
  senderId: text('sender_id').notNull(),
  /** The message that is sent now, or that may have arrived although its request failed. */
  sendingId: text('sending_id'),
  /** Requests with this message that arrived whole and got no usable answer. */
  unanswered: integer('unanswered').notNull().default(0),
  ...line(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.senderId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('remote_outboxes_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
  // A callback knows nothing else.
  index('remote_outboxes_sending').on(t.sendingId).where(sql`sending_id IS NOT NULL`),
  index('remote_outboxes_claimed').on(t.accountId, t.agentId).where(sql`claimed_by IS NOT NULL`),
])

/** What happened to a message at a remote agent: one row for each that it accepted. */
export const remoteTasks = sqliteTable('remote_tasks', {
  accountId: text('account_id').notNull(),
  /** That of the message. */
  id: text('id').notNull(),
  agentId: text('agent_id').notNull(),
  /** The conversation of the message, or the alias of its sender. */
  conversation: text('conversation').notNull(),
  /** What the remote agent calls the conversation and the task. */
  contextId: text('context_id'),
  taskId: text('task_id'),
  state: text('state', { enum: ['working', 'input-required', 'ended'] }).notNull(),
  /** When the agent accepted or refused the message. */
  createdAt: integer('created_at').notNull(),
  /** With which attempt that was, and when it began. */
  sends: integer('sends').notNull(),
  sentAt: integer('sent_at').notNull(),
  ...line(),
}, (t) => [
  // A post to a channel may reach several.
  primaryKey({ columns: [t.accountId, t.agentId, t.id] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  index('remote_tasks_conversation').on(t.accountId, t.agentId, t.conversation, t.createdAt),
  index('remote_tasks_created').on(t.createdAt),
  // For callbacks, too.
  index('remote_tasks_id').on(t.id),
  index('remote_tasks_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
])

/** Where the client of a task wants its events, which a trigger makes due. The token has all secrets. */
export const taskPushConfigs = sqliteTable('task_push_configs', {
  accountId: text('account_id').notNull(),
  /** New with each registration, also of one that replaces another: what is being sent for the other does not count. */
  id: text('id').notNull(),
  taskId: text('task_id').notNull(),
  /** The client of the task. */
  agentId: text('agent_id').notNull(),
  /** What the client calls it. */
  configId: text('config_id').notNull(),
  url: text('url').notNull(),
  /** Of the header `Authorization`. */
  scheme: text('scheme'),
  ...optionalSealedToken(),
  /** Of A2A. */
  version: text('version', { enum: ['0.3', '1.0'] }).notNull(),
  /** The last event that the receiver has, or that was there before the registration. */
  sentN: integer('sent_n').notNull(),
  createdAt: integer('created_at').notNull(),
  /** When it was given up. */
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
  /** Of the URL. People may allow it to have their texts: see `guardrailConsents`. */
  host: text('host').notNull(),
  events: text('events', { mode: 'json' }).$type<string[]>().notNull(),
  /** JSON: the secret, and the one before it while both sign. */
  ...sealedToken(),
  /** JSON: the levels of the conditions of Attention that it has learned of, by kind and subject. */
  notified: text('notified').notNull().default('{}'),
  /** What was answered last, the newest first. */
  answers: text('answers', { mode: 'json' }).$type<WebhookAnswer[]>().notNull().default([]),
  createdAt: integer('created_at').notNull(),
  /** By a person, or by the grid if `error` says why. */
  pausedAt: integer('paused_at'),
  ...line(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  index('webhooks_due').on(t.dueAt).where(sql`due_at IS NOT NULL`),
])

export interface WebhookAnswer {
  at: number
  type: string
  /** Null if there was no answer. */
  status: number | null
  ms: number
  /** The beginning of the answer, or why there was none. */
  text: string
}

/** What a webhook has not been told yet, in order. No texts: these are read when it is sent. */
export const webhookEvents = sqliteTable('webhook_events', {
  seq: integer('seq').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull(),
  webhookId: text('webhook_id').notNull(),
  /** The same in each attempt. */
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

/** Addresses to which programs outside post messages. See docs/protocol/incoming.md. */
export const incomingHooks = sqliteTable('incoming_hooks', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  /** SHA-256 of the token in its address. */
  tokenHash: text('token_hash').notNull(),
  /** The sender, of type `hook`. */
  agentId: text('agent_id').notNull(),
  /** The recipient is an agent or a channel. */
  toAgentId: text('to_agent_id'),
  channelId: text('channel_id'),
  format: text('format', { enum: ['summary', 'template', 'github', 'alertmanager'] }).notNull(),
  template: text('template').notNull(),
  /** The secret that signs requests, if they must be signed. */
  ...optionalSealedToken(),
  /** The last ones, the newest first: ids, outcomes and times, and no words. */
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
  /** `sent`, `held`, `ignored`, or the code of the error that refused it. */
  outcome: string
  /** The id of its message. */
  message?: string
}

/** What the agents of an account have sent on a day. */
export const usage = sqliteTable('usage', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The first millisecond of the day, in UTC. */
  day: integer('day').notNull(),
  /** Empty for all messages of the account; otherwise the id of an agent of another account, for those sent to it. */
  subject: text('subject').notNull(),
  messages: integer('messages').notNull(),
  bytes: integer('bytes').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.day, t.subject] }),
  index('usage_day').on(t.day),
])

/** How often the last sender of a conversation changed. See docs/conversations.md, "Conversations that run away". */
export const conversationTurns = sqliteTable('conversation_turns', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /**
   * The sorted aliases of a pair, behind `#name` if they count as members of a channel; or an id of a conversation. `#name`
   * alone has the last sender in a channel, and as `agents` the members that are paused there.
   */
  key: text('key').notNull(),
  sender: text('sender').notNull(),
  answered: text('answered'),
  /** In the hour that began at `since`. */
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

/** The account activity log: one row per admin call. It is append-only: triggers refuse updates and deletes. */
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
  /** `admin_key`, `oauth` or, for a user in the browser, `session`; otherwise null. */
  credentialKind: text('credential_kind'),
  tool: text('tool').notNull(),
  /** JSON, without secrets. */
  arguments: text('arguments').notNull(),
  outcome: text('outcome').notNull(),
  requestId: text('request_id'),
}, (t) => [
  // So a unit that is repeated fails.
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('activity_n').on(t.accountId, t.n),
  // One for each filter: tool, user, credential, errors, changes, and time.
  index('activity_tool').on(t.accountId, t.tool, t.n),
  index('activity_user').on(t.accountId, t.userId, t.n).where(sql`user_id IS NOT NULL`),
  index('activity_credential').on(t.accountId, t.credentialId, t.n).where(sql`credential_id IS NOT NULL`),
  index('activity_refused').on(t.accountId, t.n).where(sql`outcome <> 'ok'`),
  index('activity_changes').on(t.accountId, t.n).where(
    sql`substr(tool, 1, 11) <> 'admin_list_' AND substr(tool, 1, 5) <> 'read_'`,
  ),
  index('activity_time').on(t.accountId, t.createdAt, t.n),
])

/** OAuth clients: registered (RFC 7591), or known by the URL of their metadata document. Neither kind is verified. */
export const oauthClients = sqliteTable('oauth_clients', {
  /** A UUID, or the URL of the document. */
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['registered', 'document'] }).notNull(),
  name: text('name').notNull(),
  redirectUris: text('redirect_uris').notNull(),
  authMethod: text('auth_method', { enum: ['none', 'client_secret_post', 'client_secret_basic'] }).notNull(),
  secretHash: text('secret_hash'),
  createdAt: integer('created_at').notNull(),
  lastUsedAt: integer('last_used_at'),
  /** Until when this copy of a document may be used on a consent page; null for registrations. */
  freshUntil: integer('fresh_until'),
  expiresAt: integer('expires_at').notNull(),
}, (t) => [
  index('oauth_clients_unused').on(t.kind, t.createdAt).where(sql`last_used_at IS NULL`),
  index('oauth_clients_expires').on(t.expiresAt),
])

/** Authorization requests on a consent page: the validated request, and the choices shown to the user. */
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
  /** JSON: the entries of the picker, and the accounts in which a new agent can be created. */
  choices: text('choices').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
  /** The grant that the user gave; null after a refusal. */
  grantId: text('grant_id'),
}, (t) => [index('oauth_requests_user').on(t.userId, t.expiresAt), index('oauth_requests_expires').on(t.expiresAt)])

/**
 * What a user authorized a client to do in one account, with the authorization code, before whose exchange the grant has no
 * effect. It is live only while the membership of the user and the agent are.
 */
export const oauthGrants = sqliteTable('oauth_grants', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** The credential id in the activity log. */
  id: text('id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  clientId: text('client_id').notNull(),
  clientName: text('client_name').notNull(),
  /** Null for a grant to administer the account. */
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

/** Access and refresh tokens of a grant: one token family. Only their SHA-256 is stored. */
export const oauthTokens = sqliteTable('oauth_tokens', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  grantId: text('grant_id').notNull(),
  kind: text('kind', { enum: ['access', 'refresh'] }).notNull(),
  hash: text('hash').notNull(),
  /** The refresh token it was issued for; null for those issued for the code. */
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

/** How far each projection has followed `messages.seq`; below 0 while it is emptied. */
export const projections = sqliteTable('projections', {
  name: text('name').primaryKey(),
  seq: integer('seq').notNull(),
})

/** The conversations of an account. Each message has one thread in the account of its sender, and one in its recipient's. */
export const threads = sqliteTable('threads', {
  /** Kept when the projection is made again, so that links stay. */
  id: integer('id').primaryKey({ autoIncrement: true }),
  accountId: text('account_id').notNull().references(() => accounts.id),
  kind: text('kind', { enum: ['channel', 'conversation', 'pair'] }).notNull(),
  /**
   * The id of the channel; the sorted ids of both agents; or a slash and the conversation id, behind the id of the agent of
   * another account if there is one.
   */
  key: text('key').notNull(),
  /** The newest message; 0 while the projection is being made again. */
  lastSeq: integer('last_seq').notNull(),
  lastAt: integer('last_at').notNull(),
  messages: integer('messages').notNull(),
}, (t) => [
  uniqueIndex('threads_id').on(t.accountId, t.id),
  uniqueIndex('threads_key').on(t.accountId, t.kind, t.key),
  index('threads_newest').on(t.accountId, t.lastSeq),
])

/**
 * The place of each message in each account that it concerns. Without a row id: the rows are in the order of a thread, which
 * belongs to one account, so the keys are without it.
 */
export const threadMessages = sqliteTable('thread_messages', {
  accountId: text('account_id').notNull(),
  threadId: integer('thread_id').notNull(),
  seq: integer('seq').notNull(),
  /** The first message of its chain: that of the message that it replies to, or its own. */
  rootSeq: integer('root_seq').notNull(),
}, (t) => [
  primaryKey({ columns: [t.threadId, t.seq] }),
  foreignKey({ columns: [t.accountId, t.threadId], foreignColumns: [threads.accountId, threads.id] }),
  index('thread_messages_seq').on(t.seq),
  index('thread_messages_root').on(t.rootSeq).where(sql`root_seq <> seq`),
])

/** The agents of the account in its threads. Those of a channel are its members. Without a row id. */
export const threadAgents = sqliteTable('thread_agents', {
  accountId: text('account_id').notNull(),
  agentId: text('agent_id').notNull(),
  threadId: integer('thread_id').notNull(),
  /** The `seq` of the newest delivery to the agent, perhaps gone; 0 if it only wrote. An inbox is read in this order. */
  deliverySeq: integer('delivery_seq').notNull(),
  /** The newest message that a person wrote as this agent; 0 for none. It answers all that came before. */
  answeredSeq: integer('answered_seq').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.agentId, t.threadId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  foreignKey({ columns: [t.accountId, t.threadId], foreignColumns: [threads.accountId, threads.id] }),
  index('thread_agents_thread').on(t.accountId, t.threadId),
])

/** How many messages went from one end to another, in each hour and each day in UTC. Filled with `threads`. Without a row id. */
export const traffic = sqliteTable('traffic', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  /** An hour or a day, in milliseconds, and when it began. */
  periodMs: integer('period_ms').notNull(),
  at: integer('at').notNull(),
  /**
   * The id of an agent; of another account's agent the alias in the message, with its `@`. Empty, as the target, in the
   * count of all that the account sent.
   */
  source: text('source').notNull(),
  /** The same, or the id of a channel. */
  target: text('target').notNull(),
  messages: integer('messages').notNull(),
  /** How many of them answered another message, and how long these took in all. */
  answers: integer('answers').notNull(),
  answerMs: integer('answer_ms').notNull(),
  lastAt: integer('last_at').notNull(),
}, (t) => [
  // The time comes last, so that a sum over each pair reads the rows in their order.
  primaryKey({ columns: [t.accountId, t.periodMs, t.source, t.target, t.at] }),
  index('traffic_at').on(t.periodMs, t.at),
])

/** Up to which message a user has looked at a thread. */
export const threadSeen = sqliteTable('thread_seen', {
  accountId: text('account_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  threadId: integer('thread_id').notNull(),
  seq: integer('seq').notNull(),
  /** What came up to this message waits for no answer of the user: they dismissed it. */
  dismissedSeq: integer('dismissed_seq').notNull().default(0),
  /** The newest message that is not to the user and that they learn of: it names them, or they follow the channel. */
  newsSeq: integer('news_seq').notNull().default(0),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId, t.threadId] }),
  foreignKey({ columns: [t.accountId, t.threadId], foreignColumns: [threads.accountId, threads.id] }),
  index('thread_seen_thread').on(t.accountId, t.threadId),
])

/** The agents, of type `human`, as which users take part in the messages of an account. */
export const personAliases = sqliteTable('person_aliases', {
  accountId: text('account_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id),
  agentId: text('agent_id').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId] }),
  foreignKey({ columns: [t.accountId, t.agentId], foreignColumns: [agents.accountId, agents.id] }),
  uniqueIndex('person_aliases_agent').on(t.accountId, t.agentId),
])

/** The VAPID key pair (RFC 8292): one row. Browsers are subscribed with the public key, so it never changes. */
export const pushKeys = sqliteTable('push_keys', {
  id: text('id').primaryKey(),
  publicKey: text('public_key').notNull(),
  ...sealedToken(),
  createdAt: integer('created_at').notNull(),
})

/** The key pairs that sign agent cards: the newest signs. */
export const signingKeys = sqliteTable('signing_keys', {
  /** The `kid` of its signatures. */
  id: text('id').primaryKey(),
  /** JSON of the public key as a JWK. @see RFC 7517 */
  publicKey: text('public_key').notNull(),
  ...optionalSealedToken(),
  /** Later than that of every older key. */
  createdAt: integer('created_at').notNull(),
}, (t) => [uniqueIndex('signing_keys_created').on(t.createdAt)])

/** Browsers that are notified of messages to a person. See docs/web.md, "Notifications". */
export const pushSubscriptions = sqliteTable('push_subscriptions', {
  accountId: text('account_id').notNull(),
  id: text('id').notNull(),
  userId: text('user_id').notNull(),
  /** The session of the browser. Not a foreign key: a session is removed without looking for what names it. */
  sessionId: text('session_id').notNull(),
  endpoint: text('endpoint').notNull(),
  /** What notifications are encrypted for, both in base64url. @see RFC 8291 */
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

/** What a browser is to show: one row for each thread with messages that it has not shown, or has shown lately. */
export const pushNotices = sqliteTable('push_notices', {
  accountId: text('account_id').notNull(),
  subscriptionId: text('subscription_id').notNull(),
  threadId: integer('thread_id').notNull(),
  /** Messages to the person, by the `seq` of their deliveries; `thread_seen.news_seq`; or held ones, by time, with thread 0. */
  kind: text('kind', { enum: ['message', 'news', 'held'] }).notNull(),
  firstSeq: integer('first_seq').notNull(),
  lastSeq: integer('last_seq').notNull(),
  /** When to tell it, or to try again; null if nothing waits. */
  dueAt: integer('due_at'),
  tries: integer('tries').notNull().default(0),
  /** When the browser was last notified of the thread; 0 before. */
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
  /** When the next one is due. The process that moves it on sends the email. */
  nextAt: integer('next_at').notNull(),
  /** The newest delivery that an email was about. */
  notifiedSeq: integer('notified_seq').notNull().default(0),
  /** The newest `thread_seen.news_seq` that an email was about. */
  notifiedNewsSeq: integer('notified_news_seq').notNull().default(0),
  /** Ends the emails, and nothing else. Each email has it, so it is stored as it is. */
  token: text('token').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId] }),
  foreignKey({ columns: [t.accountId, t.userId], foreignColumns: [personAliases.accountId, personAliases.userId] })
    .onDelete('cascade'),
  uniqueIndex('mail_digests_token').on(t.token),
  index('mail_digests_next').on(t.nextAt),
])

/** What a user does not want to be shown for a while among what needs a person. */
export const snoozes = sqliteTable('snoozes', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  userId: text('user_id').notNull().references(() => users.id),
  kind: text('kind').notNull(),
  subject: text('subject').notNull(),
  until: integer('until').notNull(),
  /** How bad it was. It is shown again when it is worse. */
  level: integer('level').notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.userId, t.kind, t.subject] }),
  index('snoozes_until').on(t.until),
])

/** Tables whose rows SQLite stores by their primary keys (`WITHOUT ROWID`). Drizzle cannot say it. */
export const tablesWithoutRowid: readonly string[] = [
  'conversation_turns',
  'deliveries',
  'traffic',
  'leases',
  'thread_agents',
  'thread_messages',
  'usage',
]

/** A channel that is mirrored with one of Slack. Its agent has the address of the API and the token of the bot. */
export const slackChannels = sqliteTable('slack_channels', {
  accountId: text('account_id').notNull(),
  /** Random: it is in the address to which Slack sends events. */
  id: text('id').notNull(),
  channelId: text('channel_id').notNull(),
  agentId: text('agent_id').notNull(),
  /** What Slack calls its channel, and the user of the bot. */
  slackChannel: text('slack_channel').notNull(),
  /** The workspace and the app there. Null until the first event says it. */
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

/** The messages that are in both channels, whichever they were written in. */
export const slackMessages = sqliteTable('slack_messages', {
  accountId: text('account_id').notNull(),
  slackId: text('slack_id').notNull(),
  /** What Slack calls the message, and the first one of its thread. */
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

/** Who a person is in Slack. Until they have posted their code there, `slack_user` is null. */
export const slackPeople = sqliteTable('slack_people', {
  accountId: text('account_id').notNull(),
  slackId: text('slack_id').notNull(),
  userId: text('user_id').notNull().references(() => users.id, { onDelete: 'cascade' }),
  /** SHA-256 of the code; null once it was used. */
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
  /** In lower case. */
  domain: text('domain').notNull(),
  /** What the TXT record of the domain says. */
  proof: text('proof').notNull(),
  /** Null until the record was found, and again when it has been gone for too long. Then it signs in no one. */
  verifiedAt: integer('verified_at'),
  /** Since when the record is not found; null while it is. */
  missingSince: integer('missing_since'),
  checkedAt: integer('checked_at').notNull().default(0),
  isRequired: flag('is_required').notNull().default(false),
  /** The claim that decides about roles, and its values; empty if none does. */
  roleClaim: text('role_claim').notNull().default(''),
  roles: text('roles', { mode: 'json' }).$type<Record<string, 'admin' | 'member' | 'viewer'>>().notNull(),
  /** The claim with the address where the issuer is trusted; empty for `email`. */
  emailClaim: text('email_claim').notNull().default(''),
  /** The owner has said that addresses of the domain count as verified. */
  isTrusted: flag('is_trusted').notNull().default(false),
  /** Scopes to ask for besides the usual ones, separated by spaces. */
  scopes: text('scopes').notNull().default(''),
  /** Why the provider could not be asked when it was saved; empty if it answered. A draft signs no one in. */
  draft: text('draft').notNull().default(''),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.id] }),
  uniqueIndex('sso_providers_account').on(t.accountId),
  uniqueIndex('sso_providers_id').on(t.id),
  uniqueIndex('sso_providers_domain').on(t.domain).where(sql`verified_at IS NOT NULL`),
  index('sso_providers_checked').on(t.checkedAt),
])

/** The newest sign-in of each identity with the provider of an account, also a refused one. */
export const ssoSignIns = sqliteTable('sso_sign_ins', {
  accountId: text('account_id').notNull().references(() => accounts.id),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  /** Who came, or the removed member for whom the identity was refused; null for others who were refused. */
  userId: text('user_id'),
  at: integer('at').notNull(),
  outcome: text('outcome', { enum: ['ok', 'no_address', 'not_verified', 'other_domain', 'removed', 'address_taken'] })
    .notNull(),
  /** What the provider said. */
  report: text('report', { mode: 'json' }).$type<SignInReport>().notNull(),
}, (t) => [
  primaryKey({ columns: [t.accountId, t.issuer, t.subject] }),
  index('sso_sign_ins_at').on(t.accountId, t.at),
])

/** What a provider said of a user, for the owners of the account. */
export interface SignInReport {
  /** The address of the user, if one was told. */
  email: string | null
  isVerified: boolean
  /** The values of the claim with roles. */
  roles: string[]
  /** The names of the claims that came. */
  claims: string[]
  /** The names of the claims that were wanted and did not come. */
  missing: string[]
  /** Groups are told elsewhere (`_claim_names`); the userinfo endpoint failed. Both change no role. */
  notes: ('overage' | 'userinfo')[]
}

/** Who a user is at a provider. Email addresses decide nothing. */
export const ssoIdentities = sqliteTable('sso_identities', {
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  userId: text('user_id').notNull().references(() => users.id, { onDelete: 'cascade' }),
  /** The address that the issuer told when the identity became one of the user; null if it told none. */
  email: text('email'),
  createdAt: integer('created_at').notNull(),
}, (t) => [primaryKey({ columns: [t.issuer, t.subject] }), index('sso_identities_user').on(t.userId)])
