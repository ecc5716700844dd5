/** Webhooks of all accounts. */
import { crossAccountQuery, crossAccountStatement, type Db, type Statement } from '../sql.ts'
import { inBatch, places } from './conversations.ts'
import { isAtPosition } from './pulse.ts'

/** The condition that a row of `webhooks` is told what needs a person. */
export const hearsConditions =
  `webhooks.paused_at IS NULL AND (instr(webhooks.events, '"attention"') > 0 OR instr(webhooks.events, '"backup"') > 0)`

const withConditions = crossAccountQuery<{ accountId: string }>(
  'accounts whose webhooks are told what needs a person',
  `
  SELECT DISTINCT account_id FROM webhooks
  WHERE account_id > '' AND ${hearsConditions}
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = webhooks.account_id AND accounts.deleted_at IS NOT NULL)`,
)

// With this condition SQLite looks into an index.
const existWebhooks = `EXISTS (SELECT 1 FROM webhooks WHERE webhooks.account_id > '')`
const hears = (type: string) => `webhooks.paused_at IS NULL AND instr(webhooks.events, '"${type}"') > 0`
const recordEvents = (select: string) =>
  crossAccountStatement(
    'new events of webhooks',
    `INSERT INTO webhook_events (account_id, webhook_id, id, type, at, data) ${select}`,
  )
const recordMessages = recordEvents(`
  SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'message', place.created_at,
    json_object('message_id', said.id, 'from', '@' || said.from_alias, 'to', said.recipient,
      'conversation_id', said.conversation_id, 'reply_to', said.reply_to_message_id)
  FROM (${places(`${inBatch} AND ${existWebhooks}`)}) AS place
  CROSS JOIN webhooks ON webhooks.account_id = place.account_id
  CROSS JOIN messages AS said ON said.seq = place.seq
  WHERE ${hears('message')} AND webhooks.created_at <= place.created_at
  ORDER BY place.seq`)
const isNew = `log.seq > :after AND log.seq <= :upTo AND ${isAtPosition} AND ${existWebhooks}`
const recordTasks = recordEvents(`
  SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'task', log.at, json_object(
    'task_id', tasks.id, 'message_id', tasks.message_id, 'recipient', '@' || tasks.recipient_alias, 'state', log.state)
  FROM log
  CROSS JOIN tasks ON tasks.account_id = log.home AND tasks.id = log.subject
  CROSS JOIN webhooks ON webhooks.account_id IN (tasks.account_id, tasks.recipient_account_id)
  WHERE ${isNew} AND log.kind = 'task' AND log.state IS NOT NULL AND ${hears('task')}
  ORDER BY log.seq`)
const recordHeld = recordEvents(`
  SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'held', held.held_at, json_object(
    'held_id', held.id, 'message_id', held.message_id, 'expires_at', held.expires_at)
  FROM log
  CROSS JOIN held_messages AS held ON held.account_id = log.home AND held.id = log.subject
  CROSS JOIN webhooks ON webhooks.account_id = held.account_id
  WHERE ${isNew} AND log.kind = 'held' AND ${hears('held')}
  ORDER BY log.seq`)
/** Webhooks that have events and no time to send them. */
const beDue = crossAccountStatement(
  'new events of webhooks',
  `
  UPDATE webhooks SET due_at = :at WHERE account_id > '' AND due_at IS NULL AND claimed_by IS NULL AND paused_at IS NULL
    AND EXISTS (SELECT 1 FROM webhook_events
      WHERE webhook_events.account_id = webhooks.account_id AND webhook_events.webhook_id = webhooks.id)`,
)

export const webhooks = (db: Db) => ({
  /** Record the messages of a batch for the webhooks that hear of them, unless a process has done it. */
  recordMessages: (batch: { after: number; upTo: number }, at: number): Statement[] => [
    { ...db.bind(recordMessages, { ...batch, follower: 'webhook messages' }), isTraffic: true },
    { ...db.bind(beDue, { at }), isTraffic: true },
  ],
  /** The same of tasks that have changed and messages that are held. */
  recordEvents: (batch: { after: number; upTo: number }, at: number): Statement[] => [
    ...[recordTasks, recordHeld].map((record) => ({
      ...db.bind(record, { ...batch, follower: 'webhook events' }),
      isTraffic: true,
    })),
    { ...db.bind(beDue, { at }), isTraffic: true },
  ],
  /** The accounts whose webhooks are told what needs a person. */
  withConditions: async () => (await db.all(withConditions, {})).map(({ accountId }) => accountId),
})
