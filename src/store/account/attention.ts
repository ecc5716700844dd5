/** What may need a person, found by a few index searches. See docs/operations.md, "Attention". */
import { aliasedTable, and, count, desc, eq, gte, isNotNull, isNull, lte, ne, or, sql } from 'drizzle-orm'
import {
  activity,
  agentNumbers,
  agents,
  credentials,
  deliveries,
  guardrailCounts,
  guardrails,
  messages,
  oauthGrants,
  users,
} from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { whileGrantLives } from '../global/oauth-access-old.ts'
import { inAccount, inInbox } from '../in-account-old.ts'

/** Numbers are counted up to here: this one stands for itself or more. */
export const maxCounted = 1_000

/** How many rows of one kind there are at most. */
export const maxOfKind = 50

export function prepareAttention(db: Db) {
  // Conditions of partial indexes are written out, not bound: only then may the planner use the index.
  const isUnread = sql`${deliveries.state} = 'unread'`

  // One search for each inbox. GROUP BY over all unread messages takes a hundred times as long.
  const first = db.select({ seq: deliveries.seq }).from(deliveries).where(
    and(eq(deliveries.inbox, agentNumbers.n), isUnread),
  )
    .orderBy(deliveries.seq).limit(1)
  const inboxes = db.select({
    agentId: agentNumbers.agentId,
    firstSeq: sql<number>`(${first})`.as('first_seq'),
  }).from(agentNumbers).where(inAccount(agentNumbers)).as('inboxes')
  const oldest = aliasedTable(deliveries, 'oldest')
  const late = db.select({
    agentId: inboxes.agentId,
    alias: agents.alias,
    lastSeenAt: agents.lastSeenAt,
    since: oldest.createdAt,
    senderAccountId: oldest.senderAccountId,
    messageId: oldest.messageId,
  }).from(inboxes)
    .innerJoin(oldest, inAccount(oldest, eq(oldest.seq, inboxes.firstSeq)))
    .innerJoin(
      agents,
      inAccount(agents, eq(agents.id, inboxes.agentId), isNull(agents.deletedAt), ne(agents.type, sql`'human'`)),
    )
    .where(lte(oldest.createdAt, p('until')))
    .orderBy(oldest.createdAt).limit(maxOfKind).as('late')
  const counted = db.select({ one: sql`1`.as('one') }).from(deliveries).where(inInbox(sql`${late.agentId}`, isUnread))
    .limit(maxCounted).as('counted')
  const waiting = db.select({
    agentId: late.agentId,
    alias: late.alias,
    lastSeenAt: late.lastSeenAt,
    since: late.since,
    sender: messages.fromAlias,
    unread: sql<number>`(SELECT count(*) FROM ${counted})`,
  }).from(late)
    .leftJoin(
      messages,
      inAccount(messages, eq(messages.id, late.messageId), eq(messages.accountId, late.senderAccountId)),
    )
    .orderBy(late.since).prepare()

  const cameBack = db.select({
    inbox: deliveries.inbox,
    createdAt: deliveries.createdAt,
    releaseCount: deliveries.releaseCount,
  }).from(deliveries).where(inAccount(deliveries, sql`${isUnread} AND ${deliveries.releaseCount} > 2`))
    .limit(maxCounted).as('came_back')
  const returned = db.select({
    agentId: agents.id,
    alias: agents.alias,
    messages: count(),
    since: sql<number>`min(${cameBack.createdAt})`.as('since'),
    releases: sql<number>`max(${cameBack.releaseCount})`.as('releases'),
  }).from(cameBack)
    .innerJoin(agentNumbers, inAccount(agentNumbers, eq(agentNumbers.n, cameBack.inbox)))
    .innerJoin(agents, inAccount(agents, eq(agents.id, agentNumbers.agentId), isNull(agents.deletedAt)))
    .groupBy(agents.id).orderBy(sql`since`).limit(maxOfKind).prepare()

  const lost = db.select({
    inbox: deliveries.inbox,
    readAt: deliveries.readAt,
    releaseCount: deliveries.releaseCount,
  }).from(deliveries)
    .where(inAccount(deliveries, sql`${deliveries.state} = 'parked'`, gte(deliveries.readAt, p('since'))))
    .orderBy(desc(deliveries.readAt)).limit(maxCounted).as('lost')
  const parked = db.select({
    agentId: agents.id,
    alias: agents.alias,
    isDeleted: sql<boolean>`${isNotNull(agents.deletedAt)}`.mapWith(Boolean),
    messages: count(),
    releases: sql<number>`max(${lost.releaseCount})`.as('releases'),
    since: sql<number>`min(${lost.readAt})`.as('since'),
  }).from(lost)
    .innerJoin(agentNumbers, inAccount(agentNumbers, eq(agentNumbers.n, lost.inbox)))
    .innerJoin(agents, inAccount(agents, eq(agents.id, agentNumbers.agentId)))
    .groupBy(agents.id).orderBy(sql`since`).limit(maxOfKind).prepare()

  // Where the day begins in the log, so that older failures are not read.
  const begin = db.select({ n: activity.n }).from(activity).where(
    inAccount(activity, gte(activity.createdAt, p('since'))),
  )
    .orderBy(activity.createdAt, activity.n).limit(1)
  const failures = db.select({
    n: activity.n,
    actorType: activity.actorType,
    // The sessions of a user are one caller.
    caller: sql<string | null>`iif(${activity.credentialKind} = 'session', NULL, ${activity.credentialId})`.as(
      'caller',
    ),
    credentialKind: activity.credentialKind,
    userId: activity.userId,
    outcome: activity.outcome,
    createdAt: activity.createdAt,
  }).from(activity)
    .where(inAccount(activity, sql`${activity.outcome} <> 'ok'`, sql`${activity.n} >= (${begin})`))
    .orderBy(desc(activity.n)).limit(maxCounted).as('failures')
  const callers = db.select({
    // SQLite takes the other columns from the row with the greatest `n`.
    n: sql<number>`max(${failures.n})`.as('n'),
    calls: sql<number>`count(*)`.as('calls'),
    since: sql<number>`min(${failures.createdAt})`.as('since'),
    actorType: failures.actorType,
    caller: failures.caller,
    credentialKind: failures.credentialKind,
    userId: failures.userId,
    outcome: failures.outcome,
  }).from(failures).groupBy(failures.actorType, sql`${failures.caller}`, failures.userId)
    .having(gte(sql`count(*)`, p('least'))).limit(maxOfKind).as('callers')
  const refused = db.select({
    calls: callers.calls,
    since: callers.since,
    outcome: callers.outcome,
    actorType: callers.actorType,
    credentialId: callers.caller,
    credentialKind: callers.credentialKind,
    userId: callers.userId,
    userName: users.name,
    userEmail: users.email,
    keyName: credentials.name,
    keyLast4: credentials.last4,
    agentAlias: agents.alias,
    clientName: oauthGrants.clientName,
  }).from(callers)
    .leftJoin(users, eq(users.id, callers.userId))
    .leftJoin(credentials, inAccount(credentials, eq(credentials.id, callers.caller)))
    .leftJoin(oauthGrants, inAccount(oauthGrants, eq(oauthGrants.id, callers.caller)))
    .leftJoin(
      agents,
      inAccount(agents, eq(agents.id, sql`coalesce(${credentials.agentId}, ${oauthGrants.agentId})`)),
    )
    .orderBy(desc(callers.calls)).prepare()

  const failing = db.select({
    guardrailId: guardrails.id,
    name: guardrails.name,
    messages: sql<number>`sum(${guardrailCounts.n})`.as('messages'),
    since: sql<number>`min(${guardrailCounts.hour})`.as('since'),
  }).from(guardrailCounts)
    .innerJoin(guardrails, inAccount(guardrails, eq(guardrails.id, guardrailCounts.guardrailId)))
    .where(inAccount(guardrailCounts, gte(guardrailCounts.hour, p('since')), eq(guardrailCounts.action, sql`'failed'`)))
    .groupBy(guardrails.id).orderBy(sql`since`).limit(maxOfKind).prepare()

  const isUnused = or(
    and(isNull(credentials.lastUsedAt), lte(credentials.createdAt, p('neverUsedSince'))),
    lte(credentials.lastUsedAt, p('unusedSince')),
  )
  const keys = db.select({
    id: credentials.id,
    kind: credentials.kind,
    name: credentials.name,
    last4: credentials.last4,
    alias: agents.alias,
    createdAt: credentials.createdAt,
    lastUsedAt: credentials.lastUsedAt,
  }).from(credentials)
    .leftJoin(agents, inAccount(agents, eq(agents.id, credentials.agentId)))
    .where(and(
      inAccount(
        credentials,
        sql`${credentials.revokedAt} IS NULL`,
        or(isUnused, lte(credentials.createdAt, p('oldSince'))),
      ),
      whileGrantLives(db),
    ))
    .orderBy(sql`coalesce(${credentials.lastUsedAt}, ${credentials.createdAt})`).limit(maxOfKind).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * Agents of programs whose oldest unread message was stored by `until`, the longest waiting first, with its sender
       * (an alias; null if it is of another account) and the number of their unread messages up to `maxCounted`.
       */
      waiting: (until: number) => account.all(waiting, { until }),
      /** Agents with unread messages that were released three times or more; `releases` is the most of one message. */
      returned: () => account.all(returned),
      /** Agents, deleted ones too, with messages that were parked since then. */
      parked: (since: number) => account.all(parked, { since }),
      /** Callers with at least `least` refused calls since then; `outcome` is that of the last one. */
      refused: (since: number, least: number) => account.all(refused, { since, least }),
      /** Guardrails that could not answer, in hours that began from `since` on. */
      failing: (since: number) => account.all(failing, { since }),
      /**
       * Keys that are live at `at` and were last used by `unusedSince`, or made by `neverUsedSince` and never used, or
       * made by `oldSince`.
       */
      keys: (times: { at: number; unusedSince: number; neverUsedSince: number; oldSince: number }) =>
        account.all(keys, times),
    }),
    changes: () => ({}),
  }
}
