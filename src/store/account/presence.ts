/** Who is at the agents of an account, as one process stores it for the others. See `presence.ts` of the store. */
import { sql } from 'drizzle-orm'
import { presence } from '../../../db/schema.ts'
import { type AccountBinding, databaseTime, p, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** Who is at an agent through one process. */
export interface StoredPresence {
  agentId: string
  attended: string | null
  runner: string | null
  isWaiting: boolean
  /** Milliseconds since the epoch; 0 without a lease. */
  leasedUntil: number
}

export function preparePresence(db: Db) {
  // The newest replaces the older one, so that a repeated unit changes nothing.
  const store = db.insert(presence).select(
    db.select({
      accountId: value('account'),
      agentId: sql<string>`value ->> 0`.as('agent_id'),
      holder: value('holder'),
      attended: sql<string | null>`value ->> 1`.as('attended'),
      runner: sql<string | null>`value ->> 2`.as('runner'),
      isWaiting: sql<boolean>`value ->> 3`.as('is_waiting'),
      leasedUntil: sql<number>`value ->> 4`.as('leased_until'),
      changedAt: databaseTime.as('changed_at'),
    }).from(sql`json_each(${p('rows')})`).where(sql`true`),
  ).onConflictDoUpdate({
    target: [presence.accountId, presence.agentId, presence.holder],
    set: {
      attended: sql`excluded.attended`,
      runner: sql`excluded.runner`,
      isWaiting: sql`excluded.is_waiting`,
      leasedUntil: sql`excluded.leased_until`,
      changedAt: sql`excluded.changed_at`,
    },
  }).toSQL()

  return {
    reads: () => ({}),
    changes: (account: AccountBinding) => ({
      /** Store who is at agents through the process `holder`. */
      store: (holder: string, rows: StoredPresence[]): Statement => ({
        ...account.bind(store, {
          holder,
          rows: JSON.stringify(
            rows.map((row) => [row.agentId, row.attended, row.runner, row.isWaiting ? 1 : 0, row.leasedUntil]),
          ),
        }),
        rows: rows.length,
      }),
    }),
  }
}
