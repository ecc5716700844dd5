/** Statements that store the rows of an archive. See docs/protocol/archive.md. */
import type { InValue } from '@libsql/client'
import { fromBase64 } from '../../lib/encoding.ts'
import { makeMessageDue } from '../account/deliver.ts'
import { inboxOf } from '../account/inbox-message.ts'
import { completeAgent } from '../account/agent-rows.ts'
import { type Db, type Statement, statement } from '../sql.ts'
import { archivedByName } from './tables.ts'
import { type ArchivedRow, checkArchived } from './validators.ts'

interface Context {
  account: string
  at: number
}

/** SQL of one value, and its arguments. */
type Insert = (row: ArchivedRow, context: Context) => [sql: string, ...args: InValue[]]

/** Columns whose value is not that of the archive, by `table.column`. */
const inserts: Record<string, Insert> = {
  // It shows with the last unit of the import.
  'agents.deleted_at': ({ deleted_at }, { at }) => ['coalesce(?, ?)', deleted_at, at],
  'deliveries.inbox': ({ agent_id }, { account }) => [inboxOf('?', '?'), account, agent_id],
  // Its holder is elsewhere. What no one will end ends now.
  'leases.expires_at': ({ expires_at }, { at }) => ['coalesce(?, ?)', expires_at, at],
  'leases.holder': () => [`''`],
  'upload_rows.content': ({ content }) => ['?', fromBase64(String(content))],
}
const added: Record<string, string[]> = { deliveries: ['inbox'], leases: ['holder'] }

// Its token is not there, and the grid that it came from may still send.
const afterAgent = completeAgent('agents.account_id = :account AND agents.id = :id').concat(statement(`
  UPDATE remote_agents SET paused_at = coalesce(paused_at, :at) WHERE account_id = :account AND agent_id = :id`))

const makeDue = statement(makeMessageDue)

/**
 * The statements of one row. A row that is there stays as it is, so an import that was interrupted is repeated.
 * Fails as `checkArchived`.
 */
export function insertArchived(db: Db, table: string, row: ArchivedRow, context: Context): Statement[] {
  const { account, at } = context
  checkArchived(table, row, at)
  const known = archivedByName.get(table)!
  const columns = known.columns.filter((column) => column in row && !(table === 'messages' && column === 'held'))
  const names = ['account_id', ...known.accounts ?? [], ...columns, ...added[table] ?? []]
  const values = names.map((column): [string, ...InValue[]] => {
    if (column === 'account_id' || known.accounts?.includes(column)) return ['?', account]
    return inserts[`${table}.${column}`]?.(row, context) ?? ['?', row[column] ?? null]
  })
  const list = values.map(([sql]) => sql).join(', ')
  const args = values.flatMap(([, ...args]) => args)
  const into = `INSERT INTO ${table} (${names.join(', ')})`
  // The log of activity refuses to be written again.
  const insert = table === 'activity'
    ? {
      sql: `${into} SELECT ${list} WHERE NOT EXISTS (SELECT 1 FROM activity WHERE account_id = ? AND id = ?)`,
      args: [...args, account, row.id],
    }
    : { sql: `${into} VALUES (${list}) ON CONFLICT DO NOTHING`, args }
  return [insert, ...following(db, table, row, context)]
}

function following(db: Db, table: string, row: ArchivedRow, { account, at }: Context): Statement[] {
  if (table === 'messages' && row.held) {
    return [{ sql: 'UPDATE messages SET seq = -abs(seq) WHERE account_id = ? AND id = ?', args: [account, row.id] }]
  }
  if (table === 'deliveries' && row.state === 'unread') return [db.bind(makeDue, { account, id: row.message_id })]
  if (table === 'agents') return afterAgent.map((statement) => db.bind(statement, { account, id: row.id, at }))
  return []
}
