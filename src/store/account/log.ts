/** Rows of the log that a unit writes itself. See docs/architecture.md, "After the commit". */
import { type AccountDb, type Statement, statement } from '../sql.ts'

/** Whoever waits for one of the agents looks again. */
export const wakeAgents = statement(`
  INSERT INTO log (kind, subject, home)
  SELECT 'agent', id, account_id FROM agents WHERE account_id = :account AND id IN (SELECT value FROM json_each(:agents))`)

export const log = {
  reads: () => ({}),
  changes: (account: AccountDb) => ({
    /** Something has happened to agents that is no new message: whoever waits for them looks again. */
    wakeAgents: (agents: readonly string[]): Statement => account.bind(wakeAgents, { agents: JSON.stringify(agents) }),
  }),
}
