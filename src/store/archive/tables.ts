/** What an archive of an account has, table by table, and what it has not. See docs/protocol/archive.md. */

export interface ArchivedTable {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns that name the account of another row, which must be this account too. */
  readonly accounts?: readonly string[]
  /** Which rows, if not all. */
  readonly where?: string
  /** Default: as they were stored. */
  readonly order?: string
  /** What a column is read as. */
  readonly read?: Readonly<Record<string, string>>
  /** Tables whose rows follow the row that they belong to, with the column that has its `id`. */
  readonly children?: readonly { table: ArchivedTable; of: string }[]
}

/** Of the table `accounts`; they are in the manifest. */
export const accountColumns = [
  'id',
  'name',
  'created_at',
  'requires_second_factor',
  'people_see_contents',
  'turn_limits',
  'people_read_since',
] as const

/** Messages whose texts the reader of the archive may not read. */
export const hiddenMessages = '(SELECT id FROM temp.hidden_messages)'

const words = (text: string) => text.trim().split(/\s+/)
const sender = ['sender_account_id']

const parts: ArchivedTable = {
  name: 'parts',
  columns: words('id message_id media_type encoding content bytes'),
  where: `message_id NOT IN ${hiddenMessages}`,
}
const deliveries: ArchivedTable = {
  name: 'deliveries',
  columns: words(`agent_id message_id state chars created_at read_at lease_id release_count woken_at flagged task_id
    expires_at body a2a`),
  accounts: sender,
  read: {
    body: `iif(message_id IN ${hiddenMessages}, NULL, body)`,
    a2a: `iif(message_id IN ${hiddenMessages}, NULL, a2a)`,
  },
}
const leaseReleases: ArchivedTable = {
  name: 'lease_releases',
  columns: words('agent_id message_id n leased_at released_at'),
  accounts: sender,
}
const heldMessages: ArchivedTable = {
  name: 'held_messages',
  columns: words(
    `id message_id from_agent_id to_id task_id state rule findings later sent_at held_at expires_at decided_at
    decided_by decider reason edited`,
  ),
  accounts: sender,
}
const taskMessages: ArchivedTable = {
  name: 'task_messages',
  columns: words('task_id message_id role'),
  accounts: sender,
}
const taskEvents: ArchivedTable = {
  name: 'task_events',
  columns: words('task_id n id at state message_id reason'),
  accounts: sender,
  order: 'n',
}
const isOfHidden = `EXISTS (SELECT 1 FROM tasks WHERE tasks.account_id = artifacts.account_id
  AND tasks.id = artifacts.task_id AND tasks.message_id IN ${hiddenMessages})`
const artifacts: ArchivedTable = {
  name: 'artifacts',
  columns: words('task_id n artifact_id append last_chunk name parts'),
  order: 'n',
  // Null would say that the parts are those of a message.
  read: { name: `iif(${isOfHidden}, NULL, name)`, parts: `iif(${isOfHidden} AND parts IS NOT NULL, '[]', parts)` },
}

/** In the order in which they can be stored: what is named comes first. */
export const archivedTables: readonly ArchivedTable[] = [
  {
    name: 'agents',
    columns: words(`id alias type visibility access_policy description remote_url created_at deleted_at last_seen_at
      automated message_replies callers_wait`),
    // The alias of an agent that was moved belongs to its new account.
    read: { alias: 'iif(moved_to IS NULL, alias, id)' },
  },
  // On another grid somebody else may have the alias.
  { name: 'agent_access', columns: words('agent_id alias pending'), read: { pending: '1' } },
  { name: 'skills', columns: words('id name description created_at') },
  { name: 'agent_skills', columns: words('agent_id skill_id') },
  {
    name: 'channels',
    columns: words('id name description external_integration_type external_channel_name created_at deleted_at'),
  },
  { name: 'channel_members', columns: words('channel_id agent_id joined_at follows') },
  {
    name: 'guardrails',
    columns: words('id name provider config action on_failure enabled host all_agents created_at'),
  },
  { name: 'agent_guardrails', columns: words('agent_id guardrail_id direction action') },
  { name: 'guardrail_consents', columns: words('agent_id provider host created_at') },
  { name: 'guardrail_exceptions', columns: words('guardrail_id text_hash created_at') },
  {
    name: 'approval_rules',
    columns: words(
      `id name from_kind from_id to_kind to_id condition guardrail_id media_type min_bytes deciders expires_ms
      enabled is_risky created_at updated_at`,
    ),
  },
  {
    name: 'messages',
    // `held`: it has a negative `seq`. The number itself is that of another grid.
    columns: words(`id from_agent_id from_alias type recipient channel_id reply_to_message_id conversation_id flagged
      created_at sanitized hops shared_with edited via body a2a held`),
    order: 'seq',
    read: {
      body: `iif(id IN ${hiddenMessages}, '', body)`,
      a2a: `iif(id IN ${hiddenMessages}, NULL, a2a)`,
      held: 'seq < 0',
    },
    children: [parts, heldMessages, deliveries, leaseReleases].map((table) => ({ table, of: 'message_id' })),
  },
  {
    name: 'uploads',
    columns: words('id agent_id filename media_type bytes received message_id created_at'),
    where: `message_id IS NOT NULL AND message_id NOT IN ${hiddenMessages}`,
  },
  {
    name: 'upload_rows',
    columns: words('upload_id n content'),
    where: `EXISTS (SELECT 1 FROM uploads WHERE uploads.account_id = upload_rows.account_id
      AND uploads.id = upload_rows.upload_id AND uploads.message_id IS NOT NULL
      AND uploads.message_id NOT IN ${hiddenMessages})`,
    order: 'upload_id, n',
  },
  {
    name: 'tasks',
    columns: words(
      `id client_agent_id recipient_agent_id recipient_alias message_id conversation_id context_id mode state
      status_at generation created_at expires_at`,
    ),
    accounts: ['recipient_account_id'],
    children: [taskMessages, taskEvents, artifacts].map((table) => ({ table, of: 'task_id' })),
  },
  { name: 'contexts', columns: words('agent_id context_id recipient_agent_id conversation_id used_at') },
  // After the deliveries: a lease that ends gives its messages back.
  { name: 'leases', columns: words('agent_id id created_at expires_at') },
  {
    name: 'verdicts',
    columns: words(`id guardrail_id guardrail_name direction action kinds agent_ids sender_alias recipient message_id
      conversation_hash text_hash content created_at`),
    accounts: sender,
    read: { content: `iif(message_id IN ${hiddenMessages}, NULL, content)` },
  },
  { name: 'guardrail_counts', columns: words('guardrail_id hour action n') },
  {
    name: 'activity',
    columns: words(
      `n id created_at actor_type user_id credential_id credential_kind tool arguments outcome request_id`,
    ),
    order: 'n',
  },
]

/** Every archived table by its name, with those whose rows follow others. */
export const archivedByName: ReadonlyMap<string, ArchivedTable> = new Map(
  archivedTables.flatMap((table) => [table, ...(table.children ?? []).map((child) => child.table)])
    .map((table) => [table.name, table]),
)

/** People are no rows of a table of the account: an import makes invitations of them. */
export const peopleTable = 'people'

const sealed = ['encrypted_token', 'token_iv', 'token_auth_tag', 'token_key_id']
const sealedIn = (table: string) => sealed.map((column) => `${table}.${column}`)

/**
 * Tables of accounts (`table`) and columns (`table.column`) that no archive has, by the reason. Every table and column is in
 * this list or in the one above.
 */
export const notArchived: Readonly<Record<string, readonly string[]>> = {
  'secrets, and what is signed in or subscribed': [
    'credentials',
    'oauth_grants',
    'oauth_tokens',
    'push_subscriptions',
    'push_notices',
    'mail_digests',
    'task_push_configs',
    'webhooks',
    'webhook_events',
    'slack_channels',
    'slack_messages',
    'slack_people',
    'sso_providers',
    'sso_sign_ins',
    'signups',
    'agents.signup_id',
    ...['agents', 'guardrails'].flatMap(sealedIn),
  ],
  'people, who become invitations': [
    'memberships',
    'removed_members',
    'seats',
    'invitations',
    'snoozes',
    'thread_seen',
  ],
  'made again from the messages': [
    'agent_numbers',
    'deliveries.inbox',
    'edges',
    'threads',
    'thread_agents',
    'thread_messages',
  ],
  'numbers of one grid': ['messages.seq', 'deliveries.seq', 'task_events.seq', 'threads.id', 'tasks.bytes'],
  'of the grid where it happened': [
    'messages.traceparent',
    'tasks.quiet',
    'tasks.repeat_hash',
    'accounts.state',
    'accounts.deleted_at',
    'accounts.messages_per_day',
    'accounts.megabytes_per_day',
    'accounts.max_agents',
    'accounts.retention_days',
    'accounts.join_email',
    'accounts.claimed_at',
    'agents.moved_to',
    'blocked_sends',
    'conversation_turns',
    'deliveries.stranger_id',
    'guardrails.failing_since',
    'guardrails.failure',
    'idempotency_keys',
    'leases.holder',
    'leases.awaits_answer',
    'leases.key',
    'messages.trial_number',
    'remote_agents',
    'remote_exchanges',
    'remote_senders',
    'trials',
    'usage',
  ],
}
