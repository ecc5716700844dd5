/** The deliveries of a post: one for each member of the channel. */
import { and, eq, exists, isNull, ne, sql } from 'drizzle-orm'
import { agents, channelMembers, deliveries, messages } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account-old.ts'
import { lengthOf, newDelivery, type ReviewedMessage } from './new-message.ts'

export function prepareFanOut(db: Db) {
  const toMember = {
    ...newDelivery,
    accountId: channelMembers.accountId,
    agentId: channelMembers.agentId,
    inbox: sql<number>`(${inboxOf(channelMembers.accountId, channelMembers.agentId)})`.as('inbox'),
  }
  const isAgent = and(eq(agents.accountId, channelMembers.accountId), eq(agents.id, channelMembers.agentId))
  const isStored = exists(
    db.select({ one: sql`1` }).from(messages).where(inAccount(messages, eq(messages.id, p('id')))),
  )
  const isRecipient = inAccount(
    channelMembers,
    eq(channelMembers.channelId, p('channel')),
    ne(channelMembers.agentId, p('from')),
    isNull(agents.deletedAt),
    isStored,
  )
  const reached = { agentId: deliveries.agentId }
  const fanOut = db.insert(deliveries).select(
    db.select(toMember).from(channelMembers).innerJoin(agents, isAgent).where(isRecipient),
  ).onConflictDoNothing().returning(reached).toSQL()

  const ofChange = <T>(path: string) => sql<T>`json_extract(change.value, ${path})`
  const fanOutChanged = db.insert(deliveries).select(
    db.select({
      ...toMember,
      chars: sql<number>`coalesce(${ofChange('$.chars')}, ${p('chars')})`.as('chars'),
      body: ofChange<string | null>('$.body').as('body'),
      a2a: ofChange<string | null>('$.a2a').as('a2a'),
      flagged: sql<boolean>`coalesce(${ofChange('$.flagged')}, 0)`.as('flagged'),
    }).from(channelMembers).innerJoin(agents, isAgent)
      .leftJoin(sql`json_each(${p('changes')}) AS change`, sql`change.key = ${channelMembers.agentId}`)
      .where(and(isRecipient, sql`coalesce(${ofChange('$.isLeftOut')}, 0) = 0`)),
  ).onConflictDoNothing().returning(reached).toSQL()

  return {
    reads: () => ({}),
    changes: (account: AccountBinding) => ({
      /**
       * One delivery for each live member except the sender and those whose guardrails blocked the post. Returns a row
       * with `agent_id` for each. `members` is about how many there are, for the write queue.
       */
      toMembers: (message: ReviewedMessage, channel: string, members: number) => {
        const { id, at, from, guarded } = message
        const values = { id, at, from, channel, chars: lengthOf(message) }
        if (!guarded?.deliveries.length) return { ...account.bind(fanOut, values), rows: members }
        const changes = JSON.stringify(Object.fromEntries(guarded.deliveries.map((change) => [change.agentId, change])))
        return { ...account.bind(fanOutChanged, { ...values, changes }), rows: members }
      },
    }),
  }
}
