/** Removing a provisional account that was not claimed in time. See docs/security.md, "Unclaimed accounts". */
import { and, eq, exists, gt, lte, notExists, sql } from 'drizzle-orm'
import {
  accounts,
  agentAccess,
  agentGuardrails,
  agents,
  agentSkills,
  blockedSends,
  contexts,
  conversationTurns,
  credentials,
  deliveries,
  guardrailCounts,
  guardrailExceptions,
  guardrails,
  idempotencyKeys,
  leaseReleases,
  leases,
  mailDigests,
  messages,
  parts,
  presence,
  pushNotices,
  pushSubscriptions,
  seats,
  signups,
  skills,
  snoozes,
  tasks,
  threadAgents,
  threadMessages,
  threads,
  threadSeen,
  trials,
  usage,
  verdicts,
} from '../../../db/schema.ts'
import { type AccountBinding, p, precondition, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'

export function prepareUnclaimed(db: Db) {
  const one = { one: sql`1` }
  const onTrial = db.select(one).from(trials).where(inAccount(trials, gt(trials.expiresAt, p('at'))))
  const requireUnclaimed = precondition(
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
  const sent = db.select({ id: messages.id }).from(messages).where(inAccount(messages))
  // Referencing rows first, because of the foreign keys.
  const removals = [
    db.delete(leaseReleases)
      .where(and(eq(leaseReleases.senderAccountId, p('account')), sql`${leaseReleases.messageId} IN ${sent}`)),
    db.delete(deliveries)
      .where(and(eq(deliveries.senderAccountId, p('account')), sql`${deliveries.messageId} IN ${sent}`)),
    db.delete(idempotencyKeys).where(inAccount(idempotencyKeys)),
    db.delete(blockedSends).where(inAccount(blockedSends)),
    db.delete(verdicts).where(inAccount(verdicts)),
    db.delete(guardrailCounts).where(inAccount(guardrailCounts)),
    db.delete(guardrailExceptions).where(inAccount(guardrailExceptions)),
    db.delete(agentGuardrails).where(inAccount(agentGuardrails)),
    db.delete(guardrails).where(inAccount(guardrails)),
    db.delete(parts).where(inAccount(parts)),
    // With its messages, events and artifacts, by their foreign keys.
    db.delete(tasks).where(inAccount(tasks)),
    db.delete(contexts).where(inAccount(contexts)),
    // Nobody else has places of its messages: its agents reach nobody outside of it.
    ...[threadSeen, threadAgents, threadMessages, threads, mailDigests, pushNotices, pushSubscriptions, seats, snoozes]
      .map((table) => db.delete(table).where(inAccount(table))),
    db.delete(messages).where(inAccount(messages)),
    db.delete(leases).where(inAccount(leases)),
    db.delete(credentials).where(inAccount(credentials)),
    db.delete(trials).where(inAccount(trials)),
    db.delete(usage).where(inAccount(usage)),
    db.delete(conversationTurns).where(inAccount(conversationTurns)),
    db.delete(presence).where(inAccount(presence)),
    db.delete(agentAccess).where(inAccount(agentAccess)),
    db.delete(agentSkills).where(inAccount(agentSkills)),
    db.delete(skills).where(inAccount(skills)),
    // The row of an agent stays with its number, without its alias: deleting it would make SQLite scan all deliveries
    // for references.
    db.update(agents).set({
      alias: sql`${agents.id}`,
      description: '',
      signupId: null,
      deletedAt: sql`coalesce(${agents.deletedAt}, ${p('at')})`,
    }).where(inAccount(agents)),
    db.delete(signups).where(inAccount(signups)),
    db.update(accounts).set({ state: 'removed', name: '', joinEmail: null }).where(eq(accounts.id, p('account'))),
  ].map((statement) => statement.toSQL())

  return {
    reads: () => ({}),
    changes: (account: AccountBinding) => ({
      /**
       * Remove everything in the account and free its aliases; only the ids of the account and its agents stay. Fails
       * the unit unless the account was opened by `until`, is not claimed, and all its trials have ended at `at`.
       */
      remove: (until: number, at: number): Statement[] => [
        account.bind(requireUnclaimed, { until, at }),
        ...removals.map((statement) => ({ ...account.bind(statement, { at }), rows: removedRows })),
      ],
    }),
  }
}

/** About how many rows a statement of a removal writes at most: 20 agents on trial sent 10 messages each. */
const removedRows = 200
