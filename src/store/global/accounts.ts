import { and, count, eq, gt, sql } from 'drizzle-orm'
import { accounts, agents } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

export function prepareAccounts(db: Db) {
  const byId = db.select({ id: accounts.id, name: accounts.name, state: accounts.state }).from(accounts)
    .where(eq(accounts.id, p('id'))).prepare()
  const byJoinEmail = db.select({ id: accounts.id }).from(accounts).where(eq(accounts.joinEmail, p('email'))).prepare()
  const first = db.select({ id: accounts.id }).from(accounts).limit(1).prepare()
  const page = db.select({
    id: accounts.id,
    name: accounts.name,
    state: accounts.state,
    createdAt: accounts.createdAt,
  }).from(accounts).where(gt(accounts.id, p('after'))).orderBy(accounts.id).limit(p('limit')).prepare()
  const add = db.insert(accounts).values({
    id: p('id'),
    name: p('name'),
    state: p('state'),
    joinEmail: p('joinEmail'),
    createdAt: p('at'),
    claimedAt: p('claimedAt'),
    peopleReadSince: p('peopleReadSince'),
  }).toSQL()
  const agentCount = db.select({ n: count() }).from(agents).where(eq(agents.accountId, p('id')))
  const closeToJoins = db.update(accounts).set({ joinEmail: null })
    .where(and(eq(accounts.id, p('id')), sql`(${agentCount}) >= ${p('max')}`)).toSQL()

  return {
    byId: async (id: string) => (await runQuery(byId, { id }))[0],
    /** Whether there is any account at all. */
    any: async () => (await first.all()).length > 0,
    /** Accounts by id, which is the order of their creation, after the id `after`. */
    page: (after: string, limit: number) => runQuery(page, { after, limit }),
    /** The provisional account that further signups for this email address join. */
    byJoinEmail: async (email: string) => (await runQuery(byJoinEmail, { email }))[0],
    /** A constraint error if further signups for `joinEmail` join another account already. */
    add: (
      account: { id: string; name: string; state: 'provisional' | 'claimed'; joinEmail: string | null },
      at: number,
    ): Statement => {
      const isMadeByPerson = account.state === 'claimed'
      return bind(add, {
        ...account,
        at,
        claimedAt: isMadeByPerson ? at : null,
        peopleReadSince: isMadeByPerson ? 0 : null,
      })
    },
    /** Close the account to further signups if it has `max` agents. */
    closeToJoins: (id: string, max: number): Statement => bind(closeToJoins, { id, max }),
  }
}
