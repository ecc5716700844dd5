/** Files that agents upload in pieces, until a message includes them. See docs/protocol/rest.md, "Uploads". */
import { isOfMessage } from './inbox-message.ts'
import { ownLimit } from './limits.ts'
import { type AccountDb, type Decoder, precondition, type Query, query, type Statement, statement } from '../sql.ts'
import type { Row } from '@libsql/client'
import type { NewMessage } from './new-message.ts'
import type { Quotas } from './usage.ts'

/** Size of an upload's rows, except the last one. */
export const uploadRowBytes = 64 * 1024
export const maxUnfinished = 4
export const trialUploadBytes = 1024 * 1024

/** A file that an agent uploads. `received` is how many of its `bytes` have arrived. */
export interface Upload {
  id: string
  filename: string | null
  mediaType: string | null
  bytes: number
  received: number
}

/** Selects an agent's uploads that began after `since` and that no message includes yet. */
export interface Uploader {
  agent: string
  since: number
}

const blob: Decoder<Uint8Array<ArrayBuffer>> = (value) => new Uint8Array(value as ArrayBuffer)

const mine = 'uploads.account_id = :account AND uploads.agent_id = :agent AND uploads.created_at > :since'
const isOpen = `${mine} AND uploads.message_id IS NULL`
const columns = 'uploads.id, uploads.filename, uploads.media_type, uploads.bytes, uploads.received'

const open = query<Upload>(`SELECT ${columns} FROM uploads WHERE ${isOpen}`)
const byId = query<Upload>(`SELECT ${columns} FROM uploads WHERE ${isOpen} AND uploads.id = :id`)
const row = query<{ content: Uint8Array<ArrayBuffer> }>(
  `SELECT upload_rows.content FROM uploads
  JOIN upload_rows ON upload_rows.account_id = uploads.account_id AND upload_rows.upload_id = uploads.id
  WHERE ${isOpen} AND uploads.id = :id AND upload_rows.n = :n`,
  { content: blob },
)
const ofMessage = (source: string) =>
  query<{ content: Uint8Array<ArrayBuffer> }>(
    `SELECT upload_rows.content FROM ${source}
      AND uploads.message_id = :message AND uploads.id = :id
    JOIN upload_rows ON upload_rows.account_id = uploads.account_id AND upload_rows.upload_id = uploads.id
      AND upload_rows.n = :n`,
    { content: blob },
  )
const received = ofMessage(`deliveries
  JOIN messages ON messages.seq = deliveries.seq
  JOIN uploads ON ${isOfMessage('= :message')} AND deliveries.state <> 'parked'
    AND uploads.account_id = messages.account_id`)
const sent = ofMessage(`messages
  JOIN uploads ON messages.account_id = :account AND messages.from_agent_id = :agent AND messages.id = :message
    AND uploads.account_id = messages.account_id`)
const trialBytes = query<{ bytes: number; sent: number }>(`
  SELECT coalesce(sum(uploads.bytes), 0) AS bytes,
    coalesce(sum(iif(uploads.message_id IS NULL, 0, uploads.bytes)), 0) AS sent FROM trials
  LEFT JOIN uploads ON uploads.account_id = trials.account_id AND uploads.agent_id = trials.agent_id
  WHERE trials.account_id = :account AND trials.agent_id = :agent
  GROUP BY trials.agent_id`)

const add = statement(`
  INSERT INTO uploads (account_id, id, agent_id, filename, media_type, bytes, created_at)
  SELECT agents.account_id, :id, agents.id, :filename, :mediaType, :bytes, :at FROM agents
  WHERE agents.account_id = :account AND agents.id = :agent AND agents.deleted_at IS NULL
    AND (SELECT count(*) FROM uploads WHERE ${isOpen}) < ${maxUnfinished}
    AND NOT EXISTS (SELECT 1 FROM usage WHERE usage.account_id = :account AND usage.day = :day AND usage.subject = ''
      AND ${ownLimit('megabytesPerDay', ':bytesPerDay')} BETWEEN 1 AND usage.bytes + :bytes - 1)
    AND NOT EXISTS (SELECT 1 FROM trials WHERE trials.account_id = :account AND trials.agent_id = :agent
      AND ${trialUploadBytes} < :bytes + (SELECT coalesce(sum(uploads.bytes), 0) FROM uploads
        WHERE uploads.account_id = :account AND uploads.agent_id = :agent))
  ON CONFLICT DO NOTHING`)
const addRow = statement(`
  INSERT INTO upload_rows (account_id, upload_id, n, content)
  SELECT uploads.account_id, uploads.id, :n, :content FROM uploads
  WHERE ${isOpen} AND uploads.id = :id AND uploads.received = :offset
  ON CONFLICT DO NOTHING`)
const advance = statement(`
  UPDATE uploads SET received = received + :length WHERE ${isOpen} AND uploads.id = :id AND uploads.received = :offset
  RETURNING received`)

const areGiven = 'uploads.account_id = :account AND uploads.id IN (SELECT value FROM json_each(:ids))'
// A retried unit finds the uploads included in its own message.
const requireComplete = precondition(`
  (SELECT count(*) FROM uploads WHERE ${areGiven} AND uploads.agent_id = :agent AND uploads.received = uploads.bytes
    AND (uploads.message_id = :message OR uploads.message_id IS NULL AND uploads.created_at > :since))
  = json_array_length(:ids)`)
const name = statement(`
  UPDATE uploads SET message_id = :message WHERE ${areGiven}
    AND EXISTS (SELECT 1 FROM messages WHERE messages.account_id = :account AND messages.id = :message)`)

/** Detaches the uploads of `messages`, a subquery. The worker removes them in pieces, because they may be large. */
export function releaseUploads(messages: string): Query<Row> {
  return statement(`
    UPDATE uploads SET message_id = NULL, created_at = 0 WHERE account_id = :account AND message_id IN (${messages})`)
}

export const uploads = {
  reads: (account: AccountDb) => ({
    open: (uploader: Uploader) => account.all(open, { ...uploader }),
    byId: (uploader: Uploader, id: string) => account.one(byId, { ...uploader, id }),
    /** The content of a row of an upload that no message includes yet. */
    row: async (uploader: Uploader, id: string, n: number) => (await account.one(row, { ...uploader, id, n }))?.content,
    /** The content of a row of an upload in a message that the agent received or sent. */
    rowOfMessage: async (agent: string, message: string, id: string, n: number) =>
      (await account.one(received, { agent, message, id, n }) ?? await account.one(sent, { agent, message, id, n }))
        ?.content,
    /** For an agent on trial, the bytes of all its uploads and the bytes that it sent. Undefined for other agents. */
    trialBytes: (agent: string) => account.one(trialBytes, { agent }),
  }),
  changes: (account: AccountDb) => ({
    /** Starts an upload, unless a limit is reached. */
    add: (
      uploader: Uploader,
      { id, filename, mediaType, bytes }: Omit<Upload, 'received'>,
      { day, bytesPerDay }: Pick<Quotas, 'day' | 'bytesPerDay'>,
      at: number,
    ): Statement => account.bind(add, { ...uploader, id, filename, mediaType, bytes, day, bytesPerDay, at }),
    /**
     * Stores the row that begins at `offset`, if the upload has progressed exactly that far. The second statement then
     * returns `received`.
     */
    append: (uploader: Uploader, id: string, offset: number, content: Uint8Array): Statement[] => {
      const values = { ...uploader, id, offset }
      return [
        account.bind(addRow, { ...values, n: Math.floor(offset / uploadRowBytes), content }),
        account.bind(advance, { ...values, length: content.length }),
      ]
    },
    requireComplete: ({ agent, since }: Uploader, message: string, ids: readonly string[]): Statement =>
      account.bind(requireComplete, { agent, since, message, ids: JSON.stringify(ids) }),
    name: ({ id }: NewMessage, ids: readonly string[]): Statement => ({
      ...account.bind(name, { message: id, ids: JSON.stringify(ids) }),
      rows: ids.length,
    }),
  }),
}
