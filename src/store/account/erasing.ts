/** Erases what an agent or a person wrote, and lists where copies remain. See docs/people.md, "Erasing words". */
import { type AccountDb, crossAccountStatement, query, type Statement, statement } from '../sql.ts'

/** A message of the account. */
interface Scanned {
  id: string
  /** 0 or 1: the message was sent by one of the agents. */
  isOf: number
  recipients: number
}

// Reads the messages of all senders by id, which orders them by time. An index by sender would slow down each send.
const messagesAfter = query<Scanned>(`
  SELECT messages.id, messages.from_agent_id IN (SELECT value FROM json_each(:agents)) AS is_of, (
    SELECT count(*) FROM deliveries
    WHERE deliveries.seq = messages.seq) AS recipients
  FROM messages WHERE messages.account_id = :account AND messages.id > :after ORDER BY messages.id LIMIT :limit`)
const withAlias = query<{ id: string }>(`SELECT id FROM agents WHERE account_id = :account AND alias = :alias`)

const agents = 'agent_id IN (SELECT value FROM json_each(:agents))'
const removeVerdicts = statement(`
  DELETE FROM verdicts
  WHERE sender_account_id = :account AND message_id IN (SELECT value FROM json_each(:ids)) RETURNING 1`)
const removeUploadRows = statement(`
  DELETE FROM upload_rows WHERE upload_rows.account_id = :account AND upload_rows.rowid IN (
    SELECT upload_rows.rowid FROM uploads
    JOIN upload_rows ON upload_rows.account_id = uploads.account_id AND upload_rows.upload_id = uploads.id
    WHERE uploads.account_id = :account AND uploads.message_id IS NULL
      AND uploads.agent_id IN (SELECT value FROM json_each(:agents)) LIMIT :limit)
  RETURNING 1`)
// Statements by the table under which their count is reported.
const rest = {
  verdicts: statement(`
    DELETE FROM verdicts WHERE account_id = :account AND sender_account_id = :account AND sender_alias = :alias
    RETURNING 1`),
  'verdicts of others': crossAccountStatement(
    'texts that guardrails of others blocked',
    `
    UPDATE verdicts SET content = NULL
    WHERE content IS NOT NULL AND created_at > 0 AND sender_account_id = :account AND sender_alias = :alias
    RETURNING 1`,
  ),
  artifacts: crossAccountStatement(
    'results of an agent in tasks of others',
    `
    UPDATE artifacts SET name = NULL, parts = iif(parts IS NULL, NULL, '[]')
    WHERE (account_id, task_id) IN (SELECT tasks.account_id, tasks.id FROM tasks
      WHERE tasks.recipient_account_id = :account
        AND tasks.recipient_agent_id IN (SELECT value FROM json_each(:agents)))
      AND (name IS NOT NULL OR parts <> '[]')
    RETURNING 1`,
  ),
  idempotency_keys: statement(`DELETE FROM idempotency_keys WHERE account_id = :account AND ${agents} RETURNING 1`),
  blocked_sends: statement(`DELETE FROM blocked_sends WHERE account_id = :account AND ${agents} RETURNING 1`),
  reservations: statement(`DELETE FROM reservations WHERE account_id = :account AND ${agents} RETURNING 1`),
  scheduled_messages: statement(`
    DELETE FROM scheduled_messages WHERE account_id = :account AND ${agents} RETURNING 1`),
  uploads: statement(`
    DELETE FROM uploads WHERE account_id = :account AND message_id IS NULL AND ${agents} RETURNING 1`),
  // Clears the stored responses, because a server's response may quote the erased text.
  webhooks: statement(`UPDATE webhooks SET answers = '[]' WHERE account_id = :account AND answers <> '[]' RETURNING 1`),
}

export const erasing = {
  reads: (account: AccountDb) => ({
    /** The account's agents that have or had an alias. */
    agentsOf: async (alias: string) => (await account.all(withAlias, { alias })).map(({ id }) => id),
    /** The next `limit` messages of the account after the id `after`, from all senders. */
    messagesAfter: (agents: string[], after: string, limit: number) =>
      account.all(messagesAfter, { agents: JSON.stringify(agents), after, limit }),
  }),
  changes: (account: AccountDb) => ({
    removeVerdicts: (messageIds: string[]): Statement =>
      account.bind(removeVerdicts, { ids: JSON.stringify(messageIds) }),
    /** Removes up to `limit` upload rows that belong to no message. Returns a row for each. */
    removeUploadRows: (agents: string[], limit: number): Statement =>
      account.bind(removeUploadRows, { agents: JSON.stringify(agents), limit }),
    /** Erases everything else, after the messages and upload rows. Each statement returns a row for each change. */
    rest: (agents: string[], alias: string): [table: string, Statement][] =>
      Object.entries(rest).map(([table, query]) => [
        table,
        account.bind(query, { agents: JSON.stringify(agents), alias }),
      ]),
  }),
}
