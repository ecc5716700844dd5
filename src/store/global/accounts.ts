import type { accounts as table } from '../../../db/schema.ts'
import { skillsAsJson } from '../account/agent-columns.ts'
import { crossAccountQuery, type Db, query, type Statement, statement } from '../sql.ts'

type Account = Pick<typeof table.$inferSelect, 'id' | 'name' | 'state' | 'createdAt'>

const byId = query<Omit<Account, 'createdAt'>>(`SELECT id, name, state FROM accounts WHERE id = :id`)
const byJoinEmail = query<{ id: string }>(`SELECT id FROM accounts WHERE join_email = :email`)
const first = query(`SELECT id FROM accounts LIMIT 1`)
const page = query<Account>(`
  SELECT id, name, state, created_at FROM accounts WHERE id > :after ORDER BY id LIMIT :limit`)
const add = statement(`
  INSERT INTO accounts (id, name, state, join_email, created_at, claimed_at, people_read_since)
  VALUES (:id, :name, :state, :joinEmail, :at, :claimedAt, :peopleReadSince)`)
const closeToJoins = statement(`
  UPDATE accounts SET join_email = NULL
  WHERE id = :id AND (SELECT count(*) FROM agents WHERE agents.account_id = :id) >= :max`)

export const accounts = (db: Db) => ({
  byId: (id: string) => db.one(byId, { id }),
  any: async () => (await db.one(first)) !== undefined,
  /** Accounts by id, which is their order of creation, after the id `after`. */
  page: (after: string, limit: number) => db.all(page, { after, limit }),
  /** The provisional account that further signups for this email address join. */
  byJoinEmail: (email: string) => db.one(byJoinEmail, { email }),
  /** Fails with a constraint error if further signups for `joinEmail` already join another account. */
  add: (
    account: { id: string; name: string; state: 'provisional' | 'claimed'; joinEmail: string | null },
    at: number,
  ): Statement => {
    const isMadeByPerson = account.state === 'claimed'
    return db.bind(add, {
      ...account,
      at,
      claimedAt: isMadeByPerson ? at : null,
      peopleReadSince: isMadeByPerson ? 0 : null,
    })
  },
  /** Closes the account to further signups if it has `max` agents. */
  closeToJoins: (id: string, max: number): Statement => db.bind(closeToJoins, { id, max }),
})

const publicByAlias = crossAccountQuery<{ alias: string; description: string; skills: string }>(
  'public agent by alias',
  `
  SELECT agents.alias, agents.description, ${skillsAsJson} AS skills FROM agents
  WHERE agents.alias = :alias AND agents.visibility = 'public' AND agents.deleted_at IS NULL
    AND EXISTS (SELECT 1 FROM accounts WHERE accounts.id = agents.account_id AND accounts.state = 'claimed')
  LIMIT 1`,
)

export const publicAgents = (db: Db) => ({
  /** A live public agent of a claimed account; `skills` is JSON. Provisional accounts cannot be reached. */
  byAlias: (alias: string) => db.one(publicByAlias, { alias }),
})
