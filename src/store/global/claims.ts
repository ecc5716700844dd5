/** Claiming a provisional account: as an account of its own, or merged into another account of the owner. */
import { and, asc, count, eq, exists, getTableColumns, inArray, isNotNull, isNull, lt, ne, sql } from 'drizzle-orm'
import {
  accounts,
  agentAccess,
  agents,
  agentSkills,
  blockedSends,
  contexts,
  conversationTurns,
  credentials,
  deliveries,
  idempotencyKeys,
  leaseReleases,
  leases,
  memberships,
  messages,
  parts,
  presence,
  signups,
  skills,
  taskEvents,
  taskMessages,
  tasks,
  threadAgents,
  threadMessages,
  threads,
  threadSeen,
  trials,
  usage,
  users,
  verdicts,
} from '../../../db/schema.ts'
import { bind, p, precondition, runQuery, type Statement, value } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { inboxOf } from '../in-account.ts'
import { followed, placing } from './thread-projection.ts'

/**
 * A claim by a user. `keep` and `discard` are agent ids; `email` is the owner address, which the user must have
 * verified.
 */
export interface Claim {
  /** The provisional account. */
  from: string
  user: string
  email: string
  keep: string[]
  discard: string[]
  at: number
}

/** An agent that signed up, as shown to its owner before the claim. Times are milliseconds since the epoch. */
export type ClaimableAgent = Awaited<ReturnType<ReturnType<typeof prepareClaims>['agents']>>[number]

export function prepareClaims(db: Db, crossAccountQueries: CrossAccountQueries) {
  const byToken = db.select({
    home: accounts.id,
    name: accounts.name,
    state: accounts.state,
    ownerEmail: signups.ownerEmail,
  }).from(signups).innerJoin(accounts, eq(accounts.id, signups.accountId))
    .where(eq(signups.claimTokenHash, p('hash'))).prepare()
  crossAccountQueries.set(byToken.getQuery().sql, 'signup by claim link')

  const signedUp = db.select({ id: signups.accountId }).from(signups).where(eq(signups.ownerEmail, p('email')))
  const isUnclaimed = eq(accounts.state, sql`'provisional'`)
  const offer = db.select({
    id: accounts.id,
    agents: sql<number>`sum(count(*)) OVER ()`,
    trialEndsAt: sql<number | null>`min(min(${trials.expiresAt})) OVER ()`,
  }).from(accounts)
    .innerJoin(agents, and(eq(agents.accountId, accounts.id), isNull(agents.deletedAt)))
    .leftJoin(
      trials,
      and(eq(trials.accountId, agents.accountId), eq(trials.agentId, agents.id), isNull(trials.endedAt)),
    )
    .where(and(isUnclaimed, sql`${accounts.id} IN ${signedUp}`))
    .groupBy(accounts.id).orderBy(asc(accounts.createdAt), asc(accounts.id)).limit(1).prepare()
  crossAccountQueries.set(offer.getQuery().sql, 'agents that signed up for an address')
  const offered = db.select({ home: accounts.id, ownerEmail: signups.ownerEmail }).from(signups)
    .innerJoin(accounts, eq(accounts.id, signups.accountId))
    .where(and(eq(signups.accountId, p('account')), eq(signups.ownerEmail, p('email')), isUnclaimed)).limit(1).prepare()

  const isKept = sql`${agents.id} IN (SELECT value FROM json_each(${p('keep')}))`
  const ofFrom = eq(agents.accountId, p('from'))
  const live = db.select({
    id: agents.id,
    alias: agents.alias,
    description: agents.description,
    createdAt: agents.createdAt,
    lastSeenAt: agents.lastSeenAt,
    address: signups.address,
  }).from(agents)
    .leftJoin(signups, and(eq(signups.accountId, agents.accountId), eq(signups.id, agents.signupId)))
    .where(and(ofFrom, isNull(agents.deletedAt))).orderBy(asc(agents.createdAt), asc(agents.id)).prepare()

  const one = { one: sql`1` }
  const requireUnclaimed = precondition(
    db,
    exists(db.select(one).from(accounts).where(and(eq(accounts.id, p('from')), eq(accounts.state, 'provisional')))),
  )
  const requireVerifiedEmail = precondition(
    db,
    exists(
      db.select(one).from(users)
        .where(and(eq(users.id, p('user')), eq(users.email, p('email')), isNotNull(users.emailVerifiedAt))),
    ),
  )
  // The decision must cover every live agent. The owner has not seen an agent that signed up meanwhile.
  const undecided = db.select({ n: count() }).from(agents).where(and(
    ofFrom,
    isNull(agents.deletedAt),
    sql`${agents.id} NOT IN (SELECT value FROM json_each(${p('decided')}))`,
  ))
  const decidedLive = db.select({ n: count() }).from(agents).where(and(
    ofFrom,
    isNull(agents.deletedAt),
    sql`${agents.id} IN (SELECT value FROM json_each(${p('decided')}))`,
  ))
  const requireDecided = precondition(
    db,
    sql`(${undecided}) = 0 AND (${decidedLive}) = json_array_length(${p('decided')})`,
  )
  const requireOwner = precondition(
    db,
    exists(
      db.select(one).from(memberships).where(and(
        eq(memberships.accountId, p('to')),
        eq(memberships.userId, p('user')),
        eq(memberships.role, 'owner'),
      )),
    ),
  )
  const endTrials = db.delete(trials).where(eq(trials.accountId, p('from'))).toSQL()
  const close = db.update(accounts)
    .set({ state: sql`${p('state')}`, name: sql`${p('name')}`, joinEmail: null, claimedAt: sql`${p('at')}` })
    .where(eq(accounts.id, p('from'))).toSQL()

  // Referenced rows are copied first, then the referencing rows are moved, then the originals are removed.
  const copyAgents = db.insert(agents).select(
    db.select({
      ...getTableColumns(agents),
      accountId: value('to'),
      signupId: sql<null>`NULL`.as('signup_id'),
      // Two live agents cannot share an alias, not even for a moment.
      deletedAt: value<number>('at'),
    }).from(agents).where(and(ofFrom, isKept)),
  ).toSQL()
  const keptAgent = (column: unknown) => sql`${column} IN (SELECT value FROM json_each(${p('keep')}))`
  const moved = { accountId: sql`${p('to')}` }
  const moveKeys = db.update(credentials).set(moved)
    .where(and(eq(credentials.accountId, p('from')), keptAgent(credentials.agentId))).toSQL()
  const moveAccess = db.update(agentAccess).set(moved)
    .where(and(eq(agentAccess.accountId, p('from')), keptAgent(agentAccess.agentId))).toSQL()
  const copySkills = db.insert(skills).select(
    db.select({ ...getTableColumns(skills), accountId: value('to') }).from(skills).where(and(
      eq(skills.accountId, p('from')),
      exists(
        db.select(one).from(agentSkills).where(and(
          eq(agentSkills.accountId, p('from')),
          eq(agentSkills.skillId, skills.id),
          keptAgent(agentSkills.agentId),
        )),
      ),
    )),
  ).onConflictDoNothing().toSQL()
  const skillName = db.select({ name: skills.name }).from(skills)
    .where(and(eq(skills.accountId, p('from')), eq(skills.id, agentSkills.skillId)))
  // The account may already have a skill of that name, under another id.
  const moveSkills = db.update(agentSkills).set({
    accountId: sql`${p('to')}`,
    skillId: sql`(SELECT own.id FROM ${skills} AS own WHERE own.account_id = ${p('to')} AND own.name = (${skillName}))`,
  }).where(and(eq(agentSkills.accountId, p('from')), keptAgent(agentSkills.agentId))).toSQL()
  const copyMessages = db.insert(messages).select(
    db.select({ ...getTableColumns(messages), seq: sql<number>`-${messages.seq}`.as('seq'), accountId: value('to') })
      .from(messages).where(and(eq(messages.accountId, p('from')), keptAgent(messages.fromAgentId))),
  ).toSQL()
  const sentByKept = db.select({ id: messages.id }).from(messages)
    .where(and(eq(messages.accountId, p('from')), keptAgent(messages.fromAgentId)))
  const partsOfKept = and(eq(parts.accountId, p('from')), sql`${parts.messageId} IN ${sentByKept}`)
  const copyParts = db.insert(parts).select(
    db.select({ ...getTableColumns(parts), accountId: value('to') }).from(parts).where(partsOfKept),
  ).toSQL()
  // What belongs to a task follows it, by its foreign keys.
  const moveTasks = db.update(tasks).set(moved)
    .where(and(eq(tasks.accountId, p('from')), keptAgent(tasks.clientAgentId))).toSQL()
  const moveReceivedTasks = db.update(tasks).set({ recipientAccountId: sql`${p('to')}` })
    .where(and(eq(tasks.recipientAccountId, p('from')), keptAgent(tasks.recipientAgentId))).toSQL()
  const moveTaskMessages = [taskMessages, taskEvents].map((table) =>
    db.update(table).set({ senderAccountId: sql`${p('to')}` })
      .where(and(eq(table.senderAccountId, p('from')), sql`${table.messageId} IN ${sentByKept}`)).toSQL()
  )
  const moveContexts = db.update(contexts).set(moved)
    .where(and(eq(contexts.accountId, p('from')), keptAgent(contexts.agentId))).toSQL()
  const removeParts = db.delete(parts).where(partsOfKept).toSQL()
  // The holder of a lease would ack it in the old account, so every lease in flight is released: its messages are
  // redelivered.
  const inFlight = db.select({ id: leases.id }).from(leases)
    .where(and(eq(leases.accountId, p('from')), keptAgent(leases.agentId)))
  const releaseLeases = db.update(deliveries)
    .set({ state: 'unread', leaseId: null, readAt: null, releaseCount: sql`${deliveries.releaseCount} + 1` })
    .where(and(eq(deliveries.accountId, p('from')), inArray(deliveries.leaseId, inFlight))).toSQL()
  const removeLeases = db.delete(leases)
    .where(and(eq(leases.accountId, p('from')), keptAgent(leases.agentId))).toSQL()
  // Logged releases are removed, because they reference the rows that move.
  const removeReceivedReleases = db.delete(leaseReleases)
    .where(and(eq(leaseReleases.accountId, p('from')), keptAgent(leaseReleases.agentId))).toSQL()
  const removeSentReleases = db.delete(leaseReleases)
    .where(and(eq(leaseReleases.senderAccountId, p('from')), sql`${leaseReleases.messageId} IN ${sentByKept}`)).toSQL()
  const moveSent = db.update(deliveries).set({ senderAccountId: sql`${p('to')}` })
    .where(and(eq(deliveries.senderAccountId, p('from')), sql`${deliveries.messageId} IN ${sentByKept}`)).toSQL()
  const moveReceived = db.update(deliveries)
    .set({ ...moved, inbox: sql`(${inboxOf(p('to'), deliveries.agentId)})` })
    .where(and(eq(deliveries.accountId, p('from')), keptAgent(deliveries.agentId))).toSQL()
  const moveSendKeys = db.update(idempotencyKeys).set(moved)
    .where(and(eq(idempotencyKeys.accountId, p('from')), keptAgent(idempotencyKeys.agentId))).toSQL()
  const moveBlockedSends = db.update(blockedSends).set(moved)
    .where(and(eq(blockedSends.accountId, p('from')), keptAgent(blockedSends.agentId))).toSQL()
  // A provisional account reaches nobody else, so its verdicts are about its own messages. Its guardrails stay.
  const moveVerdicts = db.update(verdicts).set({ ...moved, senderAccountId: sql`${p('to')}` })
    .where(eq(verdicts.accountId, p('from'))).toSQL()
  const addUsage = db.insert(usage).select(
    db.select({ ...getTableColumns(usage), accountId: value('to') }).from(usage).where(eq(usage.accountId, p('from'))),
  ).onConflictDoUpdate({
    target: [usage.accountId, usage.day, usage.subject],
    set: {
      messages: sql`${usage.messages} + excluded.messages`,
      bytes: sql`${usage.bytes} + excluded.bytes`,
    },
  }).toSQL()
  // The streams and waits of the agents end with the move, and begin again in the other account.
  const removePresence = db.delete(presence).where(eq(presence.accountId, p('from'))).toSQL()
  // A person has just looked at these agents, so their conversations begin again.
  const removeCounts = [usage, conversationTurns]
    .map((table) => db.delete(table).where(eq(table.accountId, p('from'))).toSQL())
  const removeMessages = db.delete(messages)
    .where(and(eq(messages.accountId, p('from')), keptAgent(messages.fromAgentId))).toSQL()
  // What was made of the messages is made again, of those that moved and of those that the agents left behind.
  const removePlaces = [threadSeen, threadAgents, threadMessages, threads]
    .map((table) => db.delete(table).where(eq(table.accountId, p('from'))).toSQL())
  const isMoved = sql`(m.account_id = ${p('to')} AND ${keptAgent(sql`m.from_agent_id`)} OR m.account_id = ${p('from')})`
  const placeMoved = placing(db, sql`${isMoved} AND m.seq <= ${followed}`)
  for (const { sql: text } of placeMoved) crossAccountQueries.set(text, 'places of messages that move')
  // A message keeps its place in the log. Until the original is removed, the copy has the negative of it.
  const keepPlaces = db.update(messages).set({ seq: sql`-${messages.seq}` })
    .where(and(eq(messages.accountId, p('to')), lt(messages.seq, 0))).toSQL()
  // The row of the agent stays, without its alias: deleting it would make SQLite scan all deliveries for references.
  const leaveBehind = db.update(agents).set({ alias: sql`${agents.id}`, deletedAt: sql`${p('at')}` })
    .where(and(ofFrom, isKept)).toSQL()
  const revive = db.update(agents).set({ deletedAt: null })
    .where(and(eq(agents.accountId, p('to')), ne(agents.accountId, p('from')), isKept)).toSQL()
  const moves = [
    copyAgents,
    moveKeys,
    moveAccess,
    copySkills,
    moveSkills,
    copyMessages,
    copyParts,
    releaseLeases,
    removeLeases,
    removeReceivedReleases,
    removeSentReleases,
    moveSent,
    moveReceived,
    moveSendKeys,
    moveBlockedSends,
    moveVerdicts,
    moveTasks,
    moveReceivedTasks,
    ...moveTaskMessages,
    moveContexts,
    removeParts,
    addUsage,
    removePresence,
    ...removeCounts,
    removeMessages,
    keepPlaces,
    ...removePlaces,
    ...placeMoved,
    leaveBehind,
    revive,
  ]

  const conditions = ({ from, user, email, keep, discard }: Claim): Statement[] => [
    bind(requireUnclaimed, { from }),
    bind(requireVerifiedEmail, { user, email }),
    bind(requireDecided, { from, decided: JSON.stringify([...keep, ...discard]) }),
    bind(endTrials, { from }),
  ]

  return {
    /** The account of a claim link, and the owner address that it was made for. */
    byToken: async (hash: string) => (await runQuery(byToken, { hash }))[0],
    /**
     * The oldest provisional account with live agents that signed up for the email address, and the number of such agents
     * in all provisional accounts, with the end of the first trial that has not ended.
     */
    offer: async (email: string) => (await runQuery(offer, { email }))[0],
    /** The provisional account, if its agents signed up for the email address. */
    offered: async (account: string, email: string) => (await runQuery(offered, { account, email }))[0],
    /** The live agents of a provisional account, oldest first. */
    agents: (from: string) => runQuery(live, { from }),
    /**
     * Make the provisional account a claimed one. Fails the unit unless it is provisional, the user has verified the
     * email address and every live agent is kept or discarded. The caller adds the membership of the user and deletes
     * the discarded agents.
     */
    claim: (claim: Claim, name: string): Statement[] => [
      ...conditions(claim),
      bind(close, { from: claim.from, state: 'claimed', name, at: claim.at }),
    ],
    /**
     * Move the kept agents, with their keys, skills and messages, into the account `to`, and close the provisional
     * one. Leased messages become unread again. Fails the unit as `claim` does, and unless the user owns `to`.
     */
    merge: (claim: Claim, to: string): Statement[] => {
      const { from, user, keep, at } = claim
      const values = { from, to, keep: JSON.stringify(keep), at }
      return [
        ...conditions(claim),
        bind(requireOwner, { to, user }),
        ...moves.map((statement) => ({ ...bind(statement, values), rows: movedRows })),
        bind(close, { from, state: 'merged', name: '', at }),
      ]
    },
  }
}

/** About how many rows a statement of a merge writes at most: 20 agents on trial sent 10 messages each. */
const movedRows = 200
