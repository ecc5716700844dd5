/** Messages of type `system`: the grid's notices to an agent. */
import { deliver } from './deliver.ts'
import { type AccountDb, type Statement, statement } from '../sql.ts'

/** `from` and `to` are ids of the account's agents. `from` is the agent that the notice is about, possibly `to`. */
export interface Notice {
  id: string
  from: string
  to: string
  body: string
}

// CROSS JOIN, because otherwise SQLite starts with all agents and messages of the account.
const notices = `json_each(:notices) AS notice
  CROSS JOIN agents AS sender ON sender.account_id = :account AND sender.id = notice.value ->> '$.from'
  CROSS JOIN agents AS receiver ON receiver.account_id = :account AND receiver.id = notice.value ->> '$.to'
    AND receiver.deleted_at IS NULL`
const add = statement(`
  INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, created_at, body)
  SELECT :account, notice.value ->> '$.id', sender.id, sender.alias, 'system', '@' || receiver.alias, :at,
    notice.value ->> '$.body'
  FROM ${notices} WHERE true ON CONFLICT DO NOTHING`)
const deliverAll = statement(deliver(
  { account: ':account', agent: 'receiver.id', message: 'added', chars: 'length(added.body)' },
  `${notices} CROSS JOIN messages AS added ON added.account_id = :account AND added.id = notice.value ->> '$.id' WHERE true`,
))

/** Adds notices and delivers them, except to deleted agents. */
export function addNotices(account: AccountDb, notices: readonly Notice[], at: number): Statement[] {
  if (notices.length === 0) return []
  const values = { notices: JSON.stringify(notices), at }
  return [add, deliverAll].map((statement) => ({ ...account.bind(statement, values), rows: notices.length }))
}
