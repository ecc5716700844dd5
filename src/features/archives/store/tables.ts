/**
 * Maps database tables and columns to the archive format, and lists the omitted data. The archive's names are those of
 * `validators.ts` and never change. If a column is renamed or stored differently, only this file changes. See
 * docs/protocol/archive.md.
 */
import type { InValue } from '@libsql/client'
import { fromBase64 } from '../../../lib/encoding.ts'
import { completeAgent } from '../../../store/account/agent-rows.ts'
import { makeMessageDue } from '../../../store/account/deliver.ts'
import { agentOf, inboxOf } from '../../../store/account/inbox-message.ts'
import { type Db, type Statement, statement } from '../../../store/sql.ts'
import type { ArchivedRow } from './validators.ts'

/** The context of an import: the account's public id, and the time of the import. */
export interface ImportContext {
  account: string
  at: number
  bind: Db['bind']
}

/** SQL for one value, and its arguments. */
type Stored = (row: ArchivedRow, context: ImportContext) => [sql: string, ...args: InValue[]]

/** A conversion between the text in the database and the text in the archive. Neither is null. */
interface Conversion {
  toArchive(stored: string): string
  fromArchive(archived: string): string
}

export interface ArchivedTable {
  /** The name that the table's rows have in an archive. */
  readonly record: string
  readonly table: string
  /** Maps each field to its column. */
  readonly fields: Readonly<Record<string, string>>
  /** SQL for fields that are computed from their column or have no column. */
  readonly read?: Readonly<Record<string, string>>
  readonly convert?: Readonly<Record<string, Conversion>>
  /** SQL for columns without a field, and for columns that store a different value than their field. */
  readonly store?: Readonly<Record<string, Stored>>
  /** Statements to run after a row is inserted. */
  readonly then?: (row: ArchivedRow, context: ImportContext) => Statement[]
  /** Whether an existing row must not be inserted again, not even with `ON CONFLICT DO NOTHING`. */
  readonly isAppendOnly?: true
  /** Columns that contain the account of a related row. Rows that relate to another account are not archived. */
  readonly accounts?: readonly string[]
  /** SQL condition for the archived rows. Default: all rows. */
  readonly where?: string
  /** SQL order of the rows. Default: insertion order. */
  readonly order?: string
  /** Child tables. `of` is an SQL condition that selects the child rows of the parent row whose `id` is `?2`. */
  readonly children?: readonly { table: ArchivedTable; of: string }[]
}

/** Parses `field:column` pairs separated by white space. A word without a colon names both the field and its column. */
function fields(text: string): Record<string, string> {
  return Object.fromEntries(
    text.trim().split(/\s+/).map((pair) => pair.split(':')).map(([field, column = field]) => [field, column]),
  )
}

/** Maps the archive's JSON keys to stored keys, at every depth. */
function keys(storedByArchived: Readonly<Record<string, string>>): Conversion {
  const renamed = (text: string, names: Readonly<Record<string, string>>) => {
    const walk = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(walk)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [names[key] ?? key, walk(one)]))
    }
    return JSON.stringify(walk(JSON.parse(text)))
  }
  return {
    toArchive: (stored) => renamed(stored, inverse(storedByArchived)),
    fromArchive: (archived) => renamed(archived, storedByArchived),
  }
}

function inverse(names: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([one, other]) => [other, one]))
}

/** The columns that contain the account of a row. */
export function accountColumnsOf({ accounts = [] }: ArchivedTable): readonly string[] {
  return ['account_id', ...accounts]
}

/** SQL for the value of account columns, given SQL for the account's public id. */
export function accountValue(id: string): string {
  return id
}

/** SQL for an account's archived rows. `?1` is the account's public id. */
export function conditionOf({ table, accounts = [], where = '1' }: ArchivedTable): string {
  const isOwn = accounts.map((column) => ` AND coalesce(${table}.${column}, ?1) = ?1`).join('')
  return `${table}.account_id = ?1${isOwn} AND (${where})`
}

const sender = ['sender_account_id']

/** Subquery for the public ids of messages whose texts the archive's reader may not read. */
const hidden = '(SELECT id FROM temp.hidden_messages)'

/**
 * Fills the table of hidden messages. `?1` is the account, `?2` the time from which the reader may read all messages,
 * `?3` the reader's agent, and `?4` the reader's channels with the time they joined each, as JSON.
 */
export const hideMessages = `
  INSERT INTO temp.hidden_messages SELECT m.id FROM messages AS m
  WHERE m.account_id = ?1 AND NOT (
    coalesce(m.created_at >= ?2, 0) OR coalesce(m.from_agent_id = ?3, 0)
    OR coalesce(m.channel_id IS NOT NULL AND m.created_at >= (
      SELECT value ->> 1 FROM json_each(?4) WHERE value ->> 0 = m.channel_id), 0)
    OR (m.channel_id IS NULL AND (
      EXISTS (SELECT 1 FROM deliveries AS d
        WHERE d.seq = m.seq AND ${agentOf('d')} = ?3)
      OR EXISTS (SELECT 1 FROM held_messages AS h
        WHERE h.message_id = m.id AND h.sender_account_id = m.account_id AND h.to_id = ?3))))`

/** Queries that count account `?1`'s data that an archive omits, by kind. */
export const leftOut: Readonly<Record<string, string>> = {
  texts_that_the_reader_may_not_read: 'SELECT count(*) FROM temp.hidden_messages WHERE ?1 IS NOT NULL',
  messages_from_other_accounts:
    'SELECT count(*) FROM deliveries JOIN messages USING (seq) WHERE deliveries.account_id = ?1 AND messages.account_id <> ?1',
  deliveries_to_other_accounts:
    'SELECT count(*) FROM messages JOIN deliveries USING (seq) WHERE messages.account_id = ?1 AND deliveries.account_id <> ?1',
  tasks_with_other_accounts: 'SELECT count(*) FROM tasks WHERE (account_id = ?1) <> (recipient_account_id = ?1)',
}

/** Selects account `?1`'s people. They are not in `archivedTables`: an import creates invitations for them. */
export const people = `
  SELECT users.email AS email, memberships.role AS role, person_aliases.agent_id AS agent_id
  FROM memberships JOIN users ON users.id = memberships.user_id
  LEFT JOIN person_aliases ON person_aliases.account_id = memberships.account_id AND person_aliases.user_id = memberships.user_id
  WHERE memberships.account_id = ?1 ORDER BY users.email`

/** The account itself, which the manifest describes. */
export const archivedAccount: Pick<ArchivedTable, 'table' | 'fields' | 'read' | 'convert'> = {
  table: 'accounts',
  fields: fields(`id name created_at requires_second_factor people_see_blocked_texts:people_see_contents turn_limits
    people_read_since`),
  convert: { turn_limits: keys({ per_hour: 'perHour' }) },
}

const parts: ArchivedTable = {
  record: 'part',
  table: 'parts',
  fields: fields('id message_id media_type encoding content bytes'),
  where: `message_id NOT IN ${hidden}`,
}
const heldMessages: ArchivedTable = {
  record: 'held_message',
  table: 'held_messages',
  fields: fields(`id message_id sender_id:from_agent_id recipient_id:to_id task_id state rule findings delivery:later
    sent_at held_at expires_at decided_at decided_by decider reason is_edited:edited`),
  accounts: sender,
  convert: {
    rule: keys({ is_risky: 'isRisky' }),
    delivery: keys({
      ...{ task_id: 'taskId', is_in_task_alone: 'isInTaskAlone', expires_at: 'expiresAt', context_id: 'contextId' },
      ...{ artifact_id: 'artifactId', is_appended: 'append', is_last: 'lastChunk' },
    }),
  },
}
// Imported remote agents are paused, because their tokens are not archived and the original grid may still be sending.
const afterAgent = completeAgent('agents.account_id = :account AND agents.id = :id').concat(statement(`
  UPDATE remote_agents SET paused_at = coalesce(paused_at, :at) WHERE account_id = :account AND agent_id = :id`))
const makeDue = statement(makeMessageDue)
const messageOf = (table: string) => `(SELECT messages.id FROM messages WHERE messages.seq = ${table}.seq)`
const isOfOwnMessage = (table: string) =>
  `EXISTS (SELECT 1 FROM messages WHERE messages.seq = ${table}.seq AND messages.account_id = ?1)`
/** A delivery is identified by its message and recipient, because delivery numbers are specific to one grid. */
const delivery = {
  read: (table: string) => ({ agent_id: agentOf(table), message_id: messageOf(table) }),
  store: {
    seq: ({ message_id }, { account }) => [
      '(SELECT messages.seq FROM messages WHERE messages.account_id = ? AND messages.id = ?)',
      ...[account, message_id],
    ],
    inbox: ({ agent_id }, { account }) => [inboxOf('?', '?'), account, agent_id],
  } satisfies Record<string, Stored>,
}
const deliveries: ArchivedTable = {
  record: 'delivery',
  table: 'deliveries',
  fields: fields(`agent_id:inbox message_id:seq state chars created_at read_at lease_id returns:release_count woken_at
    is_flagged:flagged task_id expires_at text:body details:a2a`),
  where: isOfOwnMessage('deliveries'),
  order: 'inbox',
  read: {
    ...delivery.read('deliveries'),
    text: `iif(${messageOf('deliveries')} IN ${hidden}, NULL, body)`,
    details: `iif(${messageOf('deliveries')} IN ${hidden}, NULL, a2a)`,
  },
  store: delivery.store,
  then: ({ message_id, state }, { account, bind }) =>
    state === 'unread' ? [bind(makeDue, { account, id: message_id as string })] : [],
}
const leaseReleases: ArchivedTable = {
  record: 'return',
  table: 'lease_releases',
  fields: fields('agent_id:inbox message_id:seq position:n leased_at returned_at:released_at'),
  where: isOfOwnMessage('lease_releases'),
  order: 'inbox, n',
  read: delivery.read('lease_releases'),
  store: delivery.store,
}
const taskMessages: ArchivedTable = {
  record: 'task_message',
  table: 'task_messages',
  fields: fields('task_id message_id role'),
  accounts: sender,
}
const taskEvents: ArchivedTable = {
  record: 'task_event',
  table: 'task_events',
  fields: fields('task_id position:n id at state message_id reason'),
  accounts: sender,
  order: 'n',
}
const isOfHidden = `EXISTS (SELECT 1 FROM tasks WHERE tasks.account_id = artifacts.account_id
  AND tasks.id = artifacts.task_id AND tasks.message_id IN ${hidden})`
const artifacts: ArchivedTable = {
  record: 'artifact_chunk',
  table: 'artifacts',
  fields: fields('task_id position:n artifact_id is_appended:append is_last:last_chunk name parts'),
  order: 'n',
  // Null would mean that the parts belong to a message, so hidden parts become an empty list.
  read: { name: `iif(${isOfHidden}, NULL, name)`, parts: `iif(${isOfHidden} AND parts IS NOT NULL, '[]', parts)` },
}

/** The archived tables in insertion order. A row comes after the rows that it refers to. */
export const archivedTables: readonly ArchivedTable[] = [
  {
    record: 'agent',
    table: 'agents',
    fields: fields(`id alias type visibility access_policy description remote_url created_at deleted_at
      seen_at:last_seen_at is_automated:automated replies_are_answers:message_replies callers_wait`),
    // A moved agent's alias belongs to its new account.
    read: { alias: 'iif(moved_to IS NULL, alias, id)' },
    // Agents stay deleted until the import's last unit makes them visible.
    store: { deleted_at: ({ deleted_at }, { at }) => ['coalesce(?, ?)', deleted_at, at] },
    then: ({ id }, { account, at, bind }) =>
      afterAgent.map((statement) => bind(statement, { account, id: id as string, at })),
  },
  {
    record: 'access_entry',
    table: 'agent_access',
    fields: fields('agent_id alias'),
    // The entry is pending, because the alias may belong to someone else on another grid.
    store: { pending: () => ['1'] },
  },
  { record: 'skill', table: 'skills', fields: fields('id name description created_at') },
  { record: 'agent_skill', table: 'agent_skills', fields: fields('agent_id skill_id') },
  {
    record: 'channel',
    table: 'channels',
    fields: fields(`id name description external_type:external_integration_type external_name:external_channel_name
      created_at deleted_at`),
  },
  {
    record: 'channel_member',
    table: 'channel_members',
    fields: fields('channel_id agent_id joined_at is_following:follows'),
  },
  {
    record: 'guardrail',
    table: 'guardrails',
    fields: fields('id name provider config action on_failure is_enabled:enabled host all_agents created_at'),
  },
  {
    record: 'agent_guardrail',
    table: 'agent_guardrails',
    fields: fields('agent_id guardrail_id direction action'),
  },
  {
    record: 'guardrail_consent',
    table: 'guardrail_consents',
    fields: fields('agent_id provider host created_at'),
  },
  {
    record: 'guardrail_exception',
    table: 'guardrail_exceptions',
    fields: fields('guardrail_id text_hash created_at'),
  },
  {
    record: 'approval_rule',
    table: 'approval_rules',
    fields: fields(`id name from_kind from_id to_kind to_id condition guardrail_id media_type min_bytes deciders
      expires_ms is_enabled:enabled is_risky created_at updated_at`),
  },
  {
    record: 'message',
    table: 'messages',
    fields: fields(`id sender_id:from_agent_id sender_alias:from_alias type recipient channel_id
      reply_to:reply_to_message_id conversation_id is_flagged:flagged created_at is_sanitized:sanitized hops
      shared_with is_edited:edited via text:body details:a2a`),
    // Held messages have negative numbers, so messages are sorted by absolute value.
    order: 'abs(seq)',
    read: {
      text: `iif(id IN ${hidden}, '', body)`,
      details: `iif(id IN ${hidden}, NULL, a2a)`,
      // Only the sign is archived, because the number is meaningful only within one grid.
      is_held: 'seq < 0',
    },
    then: ({ id, is_held }, { account }) =>
      !is_held
        ? []
        : [{ sql: 'UPDATE messages SET seq = -abs(seq) WHERE account_id = ? AND id = ?', args: [account, id] }],
    children: [
      ...[parts, heldMessages].map((table) => ({ table, of: 'message_id = ?2' })),
      ...[deliveries, leaseReleases].map((table) => ({
        table,
        of: 'seq = (SELECT messages.seq FROM messages WHERE messages.account_id = ?1 AND messages.id = ?2)',
      })),
    ],
  },
  {
    record: 'upload',
    table: 'uploads',
    fields: fields('id agent_id filename media_type bytes received_bytes:received message_id created_at'),
    where: `message_id IS NOT NULL AND message_id NOT IN ${hidden}`,
  },
  {
    record: 'upload_piece',
    table: 'upload_rows',
    fields: fields('upload_id position:n content'),
    where: `EXISTS (SELECT 1 FROM uploads WHERE uploads.account_id = upload_rows.account_id
      AND uploads.id = upload_rows.upload_id AND uploads.message_id IS NOT NULL
      AND uploads.message_id NOT IN ${hidden})`,
    order: 'upload_id, n',
    store: { content: ({ content }) => ['?', fromBase64(String(content))] },
  },
  {
    record: 'task',
    table: 'tasks',
    fields: fields(`id client_id:client_agent_id recipient_id:recipient_agent_id recipient_alias message_id
      conversation_id context_id mode state status_at events:generation created_at expires_at`),
    accounts: ['recipient_account_id'],
    children: [taskMessages, taskEvents, artifacts].map((table) => ({ table, of: 'task_id = ?2' })),
  },
  {
    record: 'context',
    table: 'contexts',
    fields: fields('agent_id context_id recipient_id:recipient_agent_id conversation_id used_at'),
  },
  {
    // Leases come after the deliveries, because a lease's `seqs` are read from its deliveries.
    record: 'lease',
    table: 'leases',
    fields: fields('agent_id id created_at expires_at'),
    store: {
      // The lease's holder is not on this grid, so a lease without an expiry time ends immediately.
      expires_at: ({ expires_at }, { at }) => ['coalesce(?, ?)', expires_at, at],
      holder: () => [`''`],
      seqs: ({ agent_id, id }, { account }) => [
        `(SELECT nullif(json_group_array(deliveries.seq), '[]') FROM deliveries
          WHERE deliveries.inbox = ${inboxOf('?', '?')} AND deliveries.state = 'read' AND deliveries.lease_id = ?)`,
        ...[account, agent_id, id],
      ],
    },
  },
  {
    record: 'verdict',
    table: 'verdicts',
    fields: fields(`id guardrail_id guardrail_name direction action kinds agent_ids sender_alias recipient message_id
      conversation_hash text_hash text:content created_at`),
    accounts: sender,
    read: { text: `iif(message_id IN ${hidden}, NULL, content)` },
  },
  {
    record: 'guardrail_count',
    table: 'guardrail_counts',
    fields: fields('guardrail_id hour action count:n'),
  },
  {
    record: 'activity_entry',
    table: 'activity',
    fields: fields(
      `position:n id created_at actor_type user_id credential_id credential_kind call:tool arguments outcome
      request_id`,
    ),
    order: 'n',
    isAppendOnly: true,
  },
]

/** Every archived table by its record name, including child tables. */
export const archivedByRecord: ReadonlyMap<string, ArchivedTable> = new Map(
  archivedTables.flatMap((table) => [table, ...(table.children ?? []).map((child) => child.table)])
    .map((table) => [table.record, table]),
)

const sealed = ['encrypted_token', 'token_iv', 'token_auth_tag', 'token_key_id']
const sealedIn = (table: string) => sealed.map((column) => `${table}.${column}`)

/**
 * Columns (`table.column`) of archived tables that are never archived, by reason. Every column is in this list or in
 * `archivedTables`. `db/account-tables.ts` gives the reasons for tables that are not archived.
 */
export const notArchived: Readonly<Record<string, readonly string[]>> = {
  'secrets, and what is signed in or subscribed': [
    'agents.signup_id',
    ...['agents', 'guardrails'].flatMap(sealedIn),
  ],
  'numbers of one grid': [
    'messages.seq',
    'task_events.seq',
    'tasks.bytes',
  ],
  'of the grid where it happened': [
    'messages.traceparent',
    'channel_members.wake',
    'deliveries.quiet',
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
    'deliveries.external_id',
    'deliveries.external_message_id',
    'guardrails.failing_since',
    'guardrails.failure',
    'leases.holder',
    'leases.awaits_answer',
    'leases.key',
    'messages.trial_number',
  ],
}
