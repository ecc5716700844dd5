/** Counts the messages that agents of other accounts send to remote agents with a token, in the table `attempts`. */
import { type AccountDb, precondition, query, type Statement, statement } from '../sql.ts'
import type { NewMessage } from './new-message.ts'

/** The limit: at most `max` messages to the agent `to` after `since`. */
interface Limit {
  to: string
  since: number
  max: number
}

const ofAgent = `attempts.kind = 'remote_agent' AND attempts.subject = :to AND attempts.created_at > :since`
// Does not count the message itself, which a retried unit has already stored.
const requireRoom = precondition(`(SELECT count(*) FROM attempts WHERE ${ofAgent} AND attempts.id <> :id) < :max`)
const blockedSince = query<{ at: number }>(`
  SELECT created_at AS at FROM attempts WHERE ${ofAgent} ORDER BY created_at DESC LIMIT 1 OFFSET :skip`)
const count = statement(`
  INSERT INTO attempts (id, kind, subject, created_at) VALUES (:id, 'remote_agent', :to, :at) ON CONFLICT DO NOTHING`)

export const spentTokens = {
  reads: (account: AccountDb) => ({
    /** If the limit is reached: the time of the message that must leave the window before the next one is allowed. */
    blockedSince: async ({ to, since, max }: Limit): Promise<number | undefined> =>
      (await account.one(blockedSince, { to, since, skip: max - 1 }))?.at,
  }),
  changes: (account: AccountDb) => ({
    requireRoom: (limit: Limit & { id: string }): Statement => account.bind(requireRoom, { ...limit }),
    count: (to: string, { id, at }: NewMessage): Statement => account.bind(count, { to, id, at }),
  }),
}
