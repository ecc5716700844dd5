/** The end of a provisional account that nobody claimed in time. Security: section 4, rule 8. */
import { and, eq, exists, gt, lte, notExists, sql } from 'drizzle-orm'
import {
  accounts,
  agentAccess,
  agents,
  agentSkills,
  credentials,
  deliveries,
  givenBack,
  idempotencyKeys,
  messages,
  openReads,
  signups,
  skills,
  trials,
} from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { demand, own, p, type Scope, type Statement } from '../driver/binding.ts'

export function prepareUnclaimed(db: Db) {
  const one = { one: sql`1` }
  const onTrial = db.select(one).from(trials).where(own(trials, gt(trials.expiresAt, p('at'))))
  const requireUnclaimed = demand(
    db,
    exists(
      db.select(one).from(accounts).where(and(
        eq(accounts.id, p('account')),
        eq(accounts.state, sql`'provisional'`),
        lte(accounts.createdAt, p('until')),
        notExists(onTrial),
      )),
    ),
  )
  const sent = db.select({ id: messages.id }).from(messages).where(own(messages))
  // From the leaves to the root, as the foreign keys ask.
  const removals = [
    db.delete(givenBack)
      .where(and(eq(givenBack.senderAccountId, p('account')), sql`${givenBack.messageId} IN ${sent}`)),
    db.delete(deliveries)
      .where(and(eq(deliveries.senderAccountId, p('account')), sql`${deliveries.messageId} IN ${sent}`)),
    db.delete(idempotencyKeys).where(own(idempotencyKeys)),
    db.delete(messages).where(own(messages)),
    db.delete(openReads).where(own(openReads)),
    db.delete(credentials).where(own(credentials)),
    db.delete(trials).where(own(trials)),
    db.delete(agentAccess).where(own(agentAccess)),
    db.delete(agentSkills).where(own(agentSkills)),
    db.delete(skills).where(own(skills)),
    // The row itself stays, without a name: to remove it SQLite would look through all deliveries for some of its own.
    db.update(agents).set({
      alias: sql`${agents.id}`,
      description: '',
      signupId: null,
      deletedAt: sql`coalesce(${agents.deletedAt}, ${p('at')})`,
    }).where(own(agents)),
    db.delete(signups).where(own(signups)),
    db.update(accounts).set({ state: 'removed', name: '', joinEmail: null }).where(eq(accounts.id, p('account'))),
  ].map((statement) => statement.toSQL())

  return {
    reads: () => ({}),
    changes: (scope: Scope) => ({
      /**
       * Remove what the account holds, and free its aliases: of the account and its agents only the ids are left.
       * Fails the unit unless it was opened until then, nobody has claimed it, and no trial lasts any more.
       */
      remove: (until: number, at: number): Statement[] => [
        scope.bind(requireUnclaimed, { until, at }),
        ...removals.map((statement) => ({ ...scope.bind(statement, { at }), rows: removedRows })),
      ],
    }),
  }
}

/** What one statement of a removal writes at most, about: 20 agents on trial sent 10 messages each. */
const removedRows = 200
