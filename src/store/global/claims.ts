/** Taking over a provisional account: as an account of its own, or into another one of its owner. */
import { and, asc, count, eq, exists, getTableColumns, inArray, isNotNull, isNull, ne, sql } from 'drizzle-orm'
import {
  accounts,
  agentAccess,
  agents,
  agentSkills,
  credentials,
  deliveries,
  givenBack,
  idempotencyKeys,
  memberships,
  messages,
  openReads,
  signups,
  skills,
  trials,
  users,
} from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, demand, p, type Statement, value } from '../driver/binding.ts'

/** Who claims what, as every statement of one claim sees it. Ids; `email` is the mailbox that must be proved. */
export interface Claim {
  /** The provisional account. */
  from: string
  user: string
  email: string
  keep: string[]
  discard: string[]
  at: number
}

/** An agent that signed up, as its owner sees it before claiming. Times are milliseconds since the epoch. */
export type Claimable = Awaited<ReturnType<ReturnType<typeof prepareClaims>['agents']>>[number]

export function prepareClaims(db: Db, crossings: Crossings) {
  const byToken = db.select({
    home: accounts.id,
    name: accounts.name,
    state: accounts.state,
    ownerEmail: signups.ownerEmail,
  }).from(signups).innerJoin(accounts, eq(accounts.id, signups.accountId))
    .where(eq(signups.claimTokenHash, p('hash'))).prepare()
  crossings.set(byToken.getQuery().sql, 'signup by claim link')

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
  const requireUnclaimed = demand(
    db,
    exists(db.select(one).from(accounts).where(and(eq(accounts.id, p('from')), eq(accounts.state, 'provisional')))),
  )
  const requireProof = demand(
    db,
    exists(
      db.select(one).from(users)
        .where(and(eq(users.id, p('user')), eq(users.email, p('email')), isNotNull(users.emailVerifiedAt))),
    ),
  )
  // Decided are all that live now: who signed up meanwhile was not looked at by anybody.
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
  const requireDecided = demand(
    db,
    sql`(${undecided}) = 0 AND (${decidedLive}) = json_array_length(${p('decided')})`,
  )
  const requireOwner = demand(
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

  // Rows that others point to are copied first, then those that point are moved, then the originals go.
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
  const theirs = db.select({ name: skills.name }).from(skills)
    .where(and(eq(skills.accountId, p('from')), eq(skills.id, agentSkills.skillId)))
  // The account may have had a skill of that name, with an id of its own.
  const moveSkills = db.update(agentSkills).set({
    accountId: sql`${p('to')}`,
    skillId: sql`(SELECT own.id FROM ${skills} AS own WHERE own.account_id = ${p('to')} AND own.name = (${theirs}))`,
  }).where(and(eq(agentSkills.accountId, p('from')), keptAgent(agentSkills.agentId))).toSQL()
  const copyMessages = db.insert(messages).select(
    db.select({ ...getTableColumns(messages), accountId: value('to') }).from(messages)
      .where(and(eq(messages.accountId, p('from')), keptAgent(messages.fromAgentId))),
  ).toSQL()
  const sentByKept = db.select({ id: messages.id }).from(messages)
    .where(and(eq(messages.accountId, p('from')), keptAgent(messages.fromAgentId)))
  // Whether a read in flight reaches anybody is not known here, and whoever made it looks for it in the account left.
  // So it is given back: what it handed out comes again, flagged.
  const inFlight = db.select({ batchId: openReads.batchId }).from(openReads)
    .where(and(eq(openReads.accountId, p('from')), keptAgent(openReads.agentId)))
  const giveBackReads = db.update(deliveries)
    .set({ state: 'unread', batchId: null, readAt: null, returned: sql`${deliveries.returned} + 1` })
    .where(and(eq(deliveries.accountId, p('from')), inArray(deliveries.batchId, inFlight))).toSQL()
  const closeReads = db.delete(openReads)
    .where(and(eq(openReads.accountId, p('from')), keptAgent(openReads.agentId))).toSQL()
  // Traces of hand-outs stay behind: they lean on the very rows that move.
  const forgetReceived = db.delete(givenBack)
    .where(and(eq(givenBack.accountId, p('from')), keptAgent(givenBack.agentId))).toSQL()
  const forgetSent = db.delete(givenBack)
    .where(and(eq(givenBack.senderAccountId, p('from')), sql`${givenBack.messageId} IN ${sentByKept}`)).toSQL()
  const moveSent = db.update(deliveries).set({ senderAccountId: sql`${p('to')}` })
    .where(and(eq(deliveries.senderAccountId, p('from')), sql`${deliveries.messageId} IN ${sentByKept}`)).toSQL()
  const moveReceived = db.update(deliveries).set(moved)
    .where(and(eq(deliveries.accountId, p('from')), keptAgent(deliveries.agentId))).toSQL()
  const moveSendKeys = db.update(idempotencyKeys).set(moved)
    .where(and(eq(idempotencyKeys.accountId, p('from')), keptAgent(idempotencyKeys.agentId))).toSQL()
  const removeMessages = db.delete(messages)
    .where(and(eq(messages.accountId, p('from')), keptAgent(messages.fromAgentId))).toSQL()
  // A nameless row stays: to delete it, SQLite would look through all deliveries for one that points to it.
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
    giveBackReads,
    closeReads,
    forgetReceived,
    forgetSent,
    moveSent,
    moveReceived,
    moveSendKeys,
    removeMessages,
    leaveBehind,
    revive,
  ]

  const conditions = ({ from, user, email, keep, discard }: Claim): Statement[] => [
    bind(requireUnclaimed, { from }),
    bind(requireProof, { user, email }),
    bind(requireDecided, { from, decided: JSON.stringify([...keep, ...discard]) }),
    bind(endTrials, { from }),
  ]

  return {
    /** The account behind a claim link, and whose mailbox it names. */
    byToken: async (hash: string) => (await ask(byToken, { hash }))[0],
    /** The live agents of a provisional account, the oldest first. */
    agents: (from: string) => ask(live, { from }),
    /**
     * Make the provisional account a claimed one. Fails the unit unless it is provisional, the mailbox is proved
     * and every live agent is decided upon. Whose it is, and the end of those discarded, are statements of the caller.
     */
    claim: (claim: Claim, name: string): Statement[] => [
      ...conditions(claim),
      bind(close, { from: claim.from, state: 'claimed', name, at: claim.at }),
    ],
    /**
     * Move the kept agents, with their keys, skills and mail, into the account `to`, and close the provisional one.
     * Mail whose reading is under way is unread again.
     * Fails the unit as `claim` does, and unless the person owns `to`.
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

/** What one step of a merge writes at most, about: 20 agents on trial sent 10 messages each. */
const movedRows = 200
