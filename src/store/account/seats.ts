/** The aliases of people: each is an agent of type `human`. See docs/security.md, "People and their aliases". */
import { and, count, eq, exists, gt, isNull, ne, notExists, type SQL, sql } from 'drizzle-orm'
import {
  accounts,
  agents,
  channelMembers,
  deliveries,
  memberships,
  messages,
  seats,
  users,
} from '../../../db/schema.ts'
import type { Role } from '../../auth/actor.ts'
import { type AccountBinding, p, precondition, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account-old.ts'
import { isNotTakenElsewhere } from './agents.ts'

/** The alias of a person in the account. Times are milliseconds since the epoch. */
export interface Seat {
  /** The id of its agent. */
  agentId: string
  /** Without `@`. */
  alias: string
  /** What agents read about the person. */
  description: string
  createdAt: number
  lastSeenAt: number | null
}

/** What decides about what a member of the account may read. */
export interface ReaderRow {
  role: Role
  /** Since when owners and admins can read what agents write to each other; null if they cannot. */
  peopleReadSince: number | null
  /** The id and alias of the member's seat; null without one. */
  agentId: string | null
  alias: string | null
  /** JSON: an array of the id of each channel that the seat is in, and when it joined. */
  channels: string
}

/** Who is at the other end of a message to or from an agent: a channel, or another agent. */
export interface OtherEnd {
  /** The name of the channel with `#`, or the alias that the agent had then, with `@`. */
  name: string
  /** Of an agent of this account, the alias that it has now; null once it is deleted. */
  aliasNow: string | null
  /** 1 for a channel, and for an agent of another account. */
  isElsewhere: number
}

export function prepareSeats(db: Db) {
  const one = { one: sql`1` }
  const ofUser = eq(seats.userId, p('user'))
  const agentOfSeat = and(eq(agents.accountId, seats.accountId), eq(agents.id, seats.agentId), isNull(agents.deletedAt))
  const seatFields = {
    agentId: agents.id,
    alias: agents.alias,
    description: agents.description,
    createdAt: agents.createdAt,
    lastSeenAt: agents.lastSeenAt,
  }
  const ofMember = db.select(seatFields).from(seats).innerJoin(agents, agentOfSeat)
    .where(inAccount(seats, ofUser)).prepare()
  const given = db.select({ n: count() }).from(agents)
    .where(inAccount(agents, eq(agents.type, sql`'human'`), gt(agents.deletedAt, p('since')))).prepare()
  const holder = db.select({ userId: users.id, name: users.name, email: users.email }).from(seats)
    .innerJoin(users, eq(users.id, seats.userId)).where(inAccount(seats, eq(seats.agentId, p('agent')))).prepare()

  const joined = db.select({
    json: sql<string>`json_group_array(json_array(${channelMembers.channelId}, ${channelMembers.joinedAt}))`,
  }).from(channelMembers)
    .where(and(eq(channelMembers.accountId, seats.accountId), eq(channelMembers.agentId, seats.agentId)))
  const reader = db.select({
    role: memberships.role,
    peopleReadSince: accounts.peopleReadSince,
    agentId: sql<string | null>`${agents.id}`.as('agent_id'),
    alias: sql<string | null>`${agents.alias}`.as('alias'),
    channels: sql<string>`(${joined})`.as('channels'),
  }).from(memberships)
    .innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .leftJoin(seats, and(eq(seats.accountId, memberships.accountId), eq(seats.userId, memberships.userId)))
    .leftJoin(agents, agentOfSeat)
    .where(inAccount(memberships, eq(memberships.userId, p('user')))).prepare()

  const isDelivery = and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId))
  const otherEnd = (name: SQL, isElsewhere: SQL) => ({
    name: sql<string>`${name}`.as('name'),
    aliasNow: sql<string | null>`${agents.alias}`.as('alias_now'),
    isElsewhere: sql<number>`${messages.channelId} IS NOT NULL OR ${isElsewhere}`.as('is_elsewhere'),
  })
  const live = (id: typeof messages.fromAgentId | typeof deliveries.agentId) =>
    inAccount(agents, eq(agents.id, id), isNull(agents.deletedAt))
  const writer = db.select(otherEnd(
    sql`iif(${messages.channelId} IS NULL, '@' || ${messages.fromAlias}, ${messages.recipient})`,
    sql`${messages.accountId} <> ${deliveries.accountId}`,
  )).from(deliveries).innerJoin(messages, isDelivery).leftJoin(agents, live(messages.fromAgentId))
    .where(inAccount(deliveries, eq(deliveries.agentId, p('agent')), eq(deliveries.messageId, p('message')))).prepare()
  const recipient = db.select(
    otherEnd(sql`${messages.recipient}`, sql`${deliveries.accountId} <> ${messages.accountId}`),
  )
    .from(messages).leftJoin(deliveries, and(isDelivery, isNull(messages.channelId)))
    .leftJoin(agents, live(deliveries.agentId))
    .where(inAccount(messages, eq(messages.fromAgentId, p('agent')), eq(messages.id, p('message')))).prepare()

  const sameSeat = db.select(one).from(seats).where(inAccount(seats, ofUser, eq(seats.agentId, p('agent'))))
  const otherSeat = db.select(one).from(seats).where(inAccount(seats, ofUser, ne(seats.agentId, p('agent'))))
  const requireSeat = precondition(db, exists(sameSeat))
  const requireNoOther = precondition(db, notExists(otherSeat))
  const add = db.insert(seats).values(withAccount({ userId: p('user'), agentId: p('agent') })).onConflictDoNothing()
    .toSQL()
  const remove = db.delete(seats).where(inAccount(seats, ofUser)).toSQL()

  const ofAgent = inAccount(agents, eq(agents.id, p('agent')), isNull(agents.deletedAt))
  // A deleted agent, which keeps the alias from everybody else, as that of every deleted agent is kept.
  const keepAlias = db.insert(agents).select(
    db.select({
      accountId: agents.accountId,
      id: value('keeper'),
      alias: agents.alias,
      type: agents.type,
      visibility: agents.visibility,
      accessPolicy: agents.accessPolicy,
      description: sql<string>`''`.as('description'),
      remoteUrl: sql<null>`NULL`.as('remote_url'),
      encryptedToken: sql<null>`NULL`.as('encrypted_token'),
      tokenIv: sql<null>`NULL`.as('token_iv'),
      tokenAuthTag: sql<null>`NULL`.as('token_auth_tag'),
      tokenKeyId: sql<null>`NULL`.as('token_key_id'),
      signupId: sql<null>`NULL`.as('signup_id'),
      createdAt: agents.createdAt,
      deletedAt: value<number>('at'),
      lastSeenAt: agents.lastSeenAt,
      automated: sql<boolean>`0`.as('automated'),
      messageReplies: sql<boolean>`0`.as('message_replies'),
    }).from(agents).where(and(ofAgent, ne(agents.alias, p('alias')))),
  ).onConflictDoNothing().toSQL()
  const rename = db.update(agents).set({ alias: sql`${p('alias')}`, description: sql`${p('description')}` })
    .where(inAccount(agents, eq(agents.id, p('agent')), isNull(agents.deletedAt), isNotTakenElsewhere(db))).toSQL()
  const hasAlias = db.select(one).from(agents).where(and(ofAgent, eq(agents.alias, p('alias'))))
  const requireAlias = precondition(db, exists(hasAlias))

  return {
    reads: (account: AccountBinding) => ({
      /** The seat of a member; undefined without one. */
      ofMember: (user: string): Promise<Seat | undefined> => account.one(ofMember, { user }),
      /** How many aliases people of the account gave up or changed after this time. */
      givenUpSince: async (since: number) => (await account.one(given, { since }))!.n,
      /** The user whose seat an agent is. */
      holder: (agent: string) => account.one(holder, { agent }),
      /** Who wrote a message that was sent to an agent. An alias may belong to somebody else by now. */
      writer: (agent: string, message: string): Promise<OtherEnd | undefined> =>
        account.one(writer, { agent, message }),
      /** To whom an agent sent a message. */
      recipient: (agent: string, message: string): Promise<OtherEnd | undefined> =>
        account.one(recipient, { agent, message }),
      /** What decides about what a member may read; undefined for a user who is not a member. */
      reader: (user: string): Promise<ReaderRow | undefined> => account.one(reader, { user }),
    }),
    changes: (account: AccountBinding) => ({
      /** The agent must be there. Does nothing if the user has a seat. */
      add: (user: string, agent: string): Statement => account.bind(add, { user, agent }),
      remove: (user: string): Statement => account.bind(remove, { user }),
      /** Fails the unit unless the agent is the seat of the user when it runs. */
      requireSeat: (user: string, agent: string): Statement => account.bind(requireSeat, { user, agent }),
      /** Fails the unit if the user has another seat than this agent, or any if it is undefined, when it runs. */
      requireNoOther: (user: string, agent: string | undefined): Statement =>
        account.bind(requireNoOther, { user, agent: agent ?? '' }),
      /**
       * Change the alias and description of a person. The former alias stays reserved for the account: `keeper` is the
       * id of the deleted agent that keeps it. Fails the unit if the alias belongs to somebody else.
       */
      rename: (
        { agent, alias, description, keeper }: { agent: string; alias: string; description: string; keeper: string },
        at: number,
      ): Statement[] => [
        account.bind(keepAlias, { agent, alias, keeper, at }),
        account.bind(rename, { agent, alias, description }),
        account.bind(requireAlias, { agent, alias }),
      ],
    }),
  }
}
