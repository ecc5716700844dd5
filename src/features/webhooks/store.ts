/** Stores the account's webhooks, and the events that wait to be sent. See docs/protocol/webhooks.md. */
import type { webhooks as table } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import {
  type AccountDb,
  crossAccountQuery,
  crossAccountStatement,
  type Db,
  insertedToken,
  precondition,
  query,
  sealedColumns,
  type Statement,
  statement,
  updatedToken,
} from '../../store/sql.ts'
import { eventsProvider, type TextService } from '../../store/account/guardrails.ts'
import { agentOf } from '../../store/account/inbox-message.ts'
import type { ClaimedOutbox } from '../../store/account/remote-agents.ts'
import { inBatch, places } from '../../store/global/conversations.ts'
import { isAtPosition } from '../../store/global/pulse.ts'

export type WebhookAnswer = (typeof table.$inferSelect)['answers'][number]

export interface WebhookRow {
  id: string
  url: string
  /** JSON. */
  events: string
  /** JSON of `WebhookAnswer`s, newest first. */
  answers: string
  createdAt: number
  pausedAt: number | null
  error: string | null
  failingSince: number | null
  attempts: number
  /** Time of the next attempt. */
  dueAt: number | null
  waiting: number
}

export type FailingWebhook = Pick<WebhookRow, 'id' | 'url' | 'pausedAt' | 'error' | 'failingSince'>

export interface WaitingEvent {
  seq: number
  id: string
  type: string
  at: number
  /** JSON. */
  data: string
}

/** An event about to be recorded. */
export interface WebhookEvent {
  id: string
  type: string
  data: object
}

/** The levels of the Attention conditions that a webhook has been notified of, as JSON, before and after a change. */
interface Notified {
  before: string
  after: string
}

export const maxWebhooks = 10
const keptAnswers = 10

/** SQL condition for webhooks that receive events about conditions that need a person. */
const hearsConditions =
  `webhooks.paused_at IS NULL AND (instr(webhooks.events, '"attention"') > 0 OR instr(webhooks.events, '"backup"') > 0)`

const list = query<WebhookRow>(`
  SELECT id, url, events, answers, created_at, paused_at, error, failing_since, attempts, due_at, (
    SELECT count(*) FROM webhook_events
    WHERE webhook_events.account_id = :account AND webhook_events.webhook_id = webhooks.id) AS waiting
  FROM webhooks WHERE account_id = :account ORDER BY id`)
const sealed = query<SealedToken & { url: string }>(`
  SELECT url, ${sealedColumns} FROM webhooks WHERE account_id = :account AND id = :id`)
const next = query<WaitingEvent>(`
  SELECT seq, id, type, at, data FROM webhook_events
  WHERE account_id = :account AND webhook_id = :id ORDER BY seq LIMIT 1`)
// Has no LIMIT, because an account has at most `maxWebhooks`.
const failing = query<FailingWebhook>(`
  SELECT id, url, paused_at, error, failing_since FROM webhooks
  WHERE account_id = :account AND (attempts >= :least OR (paused_at IS NOT NULL AND error IS NOT NULL))
  ORDER BY coalesce(paused_at, failing_since)`)
const services = query<TextService>(`
  SELECT DISTINCT '${eventsProvider}' AS provider, host FROM webhooks
  WHERE account_id = :account AND instr(events, '"message"') > 0`)
const withConditions = query<{ id: string; events: string; notified: string }>(`
  SELECT id, events, notified FROM webhooks WHERE account_id = :account AND ${hearsConditions}`)
// A message's text, unless a guardrail redacted it. Only for channel posts, and for messages within the account that
// were written after people could read them and after each person who wrote or received them allowed the host.
const text = query<{ body: string }>(`
  SELECT messages.body FROM messages WHERE messages.account_id = :account AND messages.id = :message
    AND NOT EXISTS (SELECT 1 FROM deliveries
      WHERE deliveries.account_id = :account AND deliveries.seq = messages.seq AND deliveries.body IS NOT NULL)
    AND (
    messages.channel_id IS NOT NULL
    OR (messages.type IN ('agent', 'human')
      AND messages.created_at >= (SELECT people_read_since FROM accounts WHERE accounts.id = :account)
      AND EXISTS (
        SELECT 1 FROM deliveries WHERE deliveries.account_id = :account AND deliveries.seq = messages.seq)
      AND NOT EXISTS (
        SELECT 1 FROM agents AS person
        WHERE person.account_id = :account AND person.type = 'human'
          AND (person.id = messages.from_agent_id OR person.id IN (
            SELECT ${agentOf()} FROM deliveries
            WHERE deliveries.account_id = :account AND deliveries.seq = messages.seq))
          AND NOT EXISTS (
            SELECT 1 FROM guardrail_consents AS consent
            WHERE consent.account_id = :account AND consent.agent_id = person.id
              AND consent.provider = '${eventsProvider}' AND consent.host = :host
              AND consent.created_at <= messages.created_at))))`)
const add = statement(`
  INSERT INTO webhooks (account_id, id, url, host, events, ${sealedColumns}, created_at)
  SELECT :account, :id, :url, :host, :events, ${insertedToken}, :at
  WHERE ${maxWebhooks} > (SELECT count(*) FROM webhooks WHERE webhooks.account_id = :account)
  ON CONFLICT (account_id, id) DO NOTHING RETURNING id`)
const remove = statement('DELETE FROM webhooks WHERE account_id = :account AND id = :id')
const rotate = statement(`UPDATE webhooks SET ${updatedToken} WHERE account_id = :account AND id = :id`)
const pause = statement(
  'UPDATE webhooks SET paused_at = :at WHERE account_id = :account AND id = :id AND paused_at IS NULL',
)
const hasMore = `EXISTS (SELECT 1 FROM webhook_events
    WHERE webhook_events.account_id = :account AND webhook_events.webhook_id = webhooks.id)`
const works = 'attempts = 0, failing_since = NULL, error = NULL'
const resume = statement(`
  UPDATE webhooks SET paused_at = NULL, ${works}, due_at = iif(${hasMore}, :at, NULL)
  WHERE account_id = :account AND id = :id AND paused_at IS NOT NULL`)
const requireNotified = precondition(`EXISTS (SELECT 1 FROM webhooks
  WHERE account_id = :account AND id = :id AND notified = :before AND paused_at IS NULL)`)
const record = statement(`
  INSERT INTO webhook_events (account_id, webhook_id, id, type, at, data)
  VALUES (:account, :webhook, :id, :type, :at, :data)`)
const beDue = statement(
  'UPDATE webhooks SET due_at = :at WHERE account_id = :account AND id = :id AND due_at IS NULL',
)
const setNotified = statement('UPDATE webhooks SET notified = :after WHERE account_id = :account AND id = :id')
const isClaimed = 'webhooks.account_id = :account AND webhooks.id = :id AND webhooks.claimed_by = :claim'
const taken = statement(`
  DELETE FROM webhook_events WHERE account_id = :account AND webhook_id = :id AND seq = :seq
    AND EXISTS (SELECT 1 FROM webhooks WHERE ${isClaimed})`)
const hasWorked = statement(`UPDATE webhooks SET ${works} WHERE ${isClaimed} AND failing_since IS NOT NULL`)
const withAnswer = `answers = (SELECT json_group_array(json(value)) FROM (
    SELECT -1 AS key, :answer AS value UNION ALL SELECT key, value FROM json_each(webhooks.answers)
    ORDER BY key LIMIT ${keptAnswers}))`
const answered = statement(`UPDATE webhooks SET ${withAnswer} WHERE ${isClaimed} RETURNING claimed_by`)
// An accepted test makes waiting events due immediately, because the server works again.
const tested = statement(`
  UPDATE webhooks SET ${withAnswer}, due_at = iif(:taken AND claimed_by IS NULL, min(due_at, :at), due_at)
  WHERE account_id = :account AND id = :id`)
const release = statement(`
  UPDATE webhooks SET claimed_by = NULL, ${works}, due_at = iif(${hasMore}, :at, NULL) WHERE ${isClaimed}`)
const giveUp = statement(`UPDATE webhooks SET claimed_by = NULL, error = :error, paused_at = :at WHERE ${isClaimed}`)

const accountsWithConditions = crossAccountQuery<{ accountId: string }>(
  'accounts whose webhooks get what needs a person',
  `
  SELECT DISTINCT account_id FROM webhooks
  WHERE account_id > '' AND ${hearsConditions}
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.id = webhooks.account_id AND accounts.deleted_at IS NOT NULL)`,
)

// With this condition SQLite uses an index.
const existWebhooks = `EXISTS (SELECT 1 FROM webhooks WHERE webhooks.account_id > '')`
const hears = (type: string) => `webhooks.paused_at IS NULL AND instr(webhooks.events, '"${type}"') > 0`
const recordAll = (select: string) =>
  crossAccountStatement(
    'new events of webhooks',
    `INSERT INTO webhook_events (account_id, webhook_id, id, type, at, data) ${select}`,
  )
const recordMessages = recordAll(`
  SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'message', place.created_at,
    json_object('message_id', said.id, 'from', '@' || said.from_alias, 'to', said.recipient,
      'conversation_id', said.conversation_id, 'reply_to', said.reply_to_message_id,
      'hops', said.hops)
  FROM (${places(`${inBatch} AND ${existWebhooks}`)}) AS place
  CROSS JOIN webhooks ON webhooks.account_id = place.account_id
  CROSS JOIN messages AS said ON said.seq = place.seq
  WHERE ${hears('message')} AND webhooks.created_at <= place.created_at
  ORDER BY place.seq`)
const isNew = `log.seq > :after AND log.seq <= :upTo AND ${isAtPosition} AND ${existWebhooks}`
const recordTasks = recordAll(`
  SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'task', log.at, json_object(
    'task_id', tasks.id, 'message_id', tasks.message_id, 'recipient', '@' || tasks.recipient_alias, 'state', log.state)
  FROM log
  CROSS JOIN tasks ON tasks.account_id = log.home AND tasks.id = log.subject
  CROSS JOIN webhooks ON webhooks.account_id IN (tasks.account_id, tasks.recipient_account_id)
  WHERE ${isNew} AND log.kind = 'task' AND log.state IS NOT NULL AND ${hears('task')}
  ORDER BY log.seq`)
const recordHeld = recordAll(`
  SELECT webhooks.account_id, webhooks.id, lower(hex(randomblob(16))), 'held', held.held_at, json_object(
    'held_id', held.id, 'message_id', held.message_id, 'expires_at', held.expires_at)
  FROM log
  CROSS JOIN held_messages AS held ON held.account_id = log.home AND held.id = log.subject
  CROSS JOIN webhooks ON webhooks.account_id = held.account_id
  WHERE ${isNew} AND log.kind = 'held' AND ${hears('held')}
  ORDER BY log.seq`)
/** Schedules webhooks with unscheduled events. */
const allBeDue = crossAccountStatement(
  'new events of webhooks',
  `
  UPDATE webhooks SET due_at = :at WHERE account_id > '' AND due_at IS NULL AND claimed_by IS NULL AND paused_at IS NULL
    AND EXISTS (SELECT 1 FROM webhook_events
      WHERE webhook_events.account_id = webhooks.account_id AND webhook_events.webhook_id = webhooks.id)`,
)

export const webhookTables = {
  reads: (account: AccountDb) => ({
    /** All webhooks, oldest first. */
    list: () => account.all(list, {}),
    sealed: (id: string) => account.one(sealed, { id }),
    /** Webhooks with at least this many consecutive failures, and those paused because of failures. */
    failing: (failures: number) => account.all(failing, { least: failures }),
    next: (id: string) => account.one(next, { id }),
    /** A message's text, if webhooks on this host may receive it. */
    text: async (message: string, host: string) => (await account.one(text, { message, host }))?.body,
    /** The hosts that receive message texts. */
    services: () => account.all(services, {}),
    /** Webhooks that receive events about conditions that need a person. */
    withConditions: () => account.all(withConditions, {}),
  }),
  changes: (account: AccountDb) => ({
    /** Adds a webhook. Returns no row if there are too many. */
    add: (id: string, url: string, events: readonly string[], secrets: SealedToken, at: number): Statement =>
      account.bind(add, { ...secrets, id, url, host: new URL(url).host, events: JSON.stringify(events), at }),
    remove: (id: string): Statement => account.bind(remove, { id }),
    rotate: (id: string, secrets: SealedToken): Statement => account.bind(rotate, { ...secrets, id }),
    pause: (id: string, at: number): Statement => account.bind(pause, { id, at }),
    resume: (id: string, at: number): Statement => account.bind(resume, { id, at }),
    /** Records the response to a test. If the server accepted it (`taken`), waiting events are sent immediately. */
    tested: (id: string, answer: WebhookAnswer, taken: boolean, at: number): Statement =>
      account.bind(tested, { id, answer: JSON.stringify(answer), taken: Number(taken), at }),
    /**
     * Records events about conditions. Fails with `write_conflict` if the webhook is paused or `notified` has changed.
     */
    notifyOfConditions: (webhook: string, { before, after }: Notified, events: readonly WebhookEvent[], at: number) => [
      account.bind(requireNotified, { id: webhook, before }),
      ...events.map(({ id, type, data }) =>
        account.bind(record, { webhook, id, type, at, data: JSON.stringify(data) })
      ),
      account.bind(setNotified, { id: webhook, after }),
      account.bind(beDue, { id: webhook, at }),
    ],
    /** Removes an event that the server has accepted, and resets the failure count. */
    taken: ({ id, claim }: ClaimedOutbox, seq: number): Statement[] => [
      account.bind(taken, { id, claim, seq }),
      account.bind(hasWorked, { id, claim }),
    ],
    /** Records the response. Returns a row if the outbox is still claimed. */
    answered: ({ id, claim }: ClaimedOutbox, answer: WebhookAnswer): Statement =>
      account.bind(answered, { id, claim, answer: JSON.stringify(answer) }),
    release: ({ id, claim }: ClaimedOutbox, at: number): Statement => account.bind(release, { id, claim, at }),
    giveUp: ({ id, claim }: ClaimedOutbox, error: string, at: number): Statement =>
      account.bind(giveUp, { id, claim, error, at }),
  }),
}

/** Webhooks of all accounts. */
export const allWebhooks = (db: Db) => ({
  /** Records a batch's messages for subscribed webhooks, unless another process has done so. */
  recordMessages: (batch: { after: number; upTo: number }, at: number): Statement[] => [
    { ...db.bind(recordMessages, { ...batch, follower: 'webhook messages' }), isTraffic: true },
    { ...db.bind(allBeDue, { at }), isTraffic: true },
  ],
  /** Records changed tasks and held messages like `recordMessages`. */
  recordEvents: (batch: { after: number; upTo: number }, at: number): Statement[] => [
    ...[recordTasks, recordHeld].map((record) => ({
      ...db.bind(record, { ...batch, follower: 'webhook events' }),
      isTraffic: true,
    })),
    { ...db.bind(allBeDue, { at }), isTraffic: true },
  ],
  /** Accounts whose webhooks receive events about conditions that need a person. */
  withConditions: async () => (await db.all(accountsWithConditions, {})).map(({ accountId }) => accountId),
})
