/** The row of the account itself. */
import { type AccountDb, boolean, precondition, query, type Statement, statement } from '../sql.ts'

const rename = statement(`UPDATE accounts SET name = :name WHERE id = :account`)
const requireSecondFactor = statement(`UPDATE accounts SET requires_second_factor = :isRequired WHERE id = :account`)
const showContents = statement(`UPDATE accounts SET people_see_contents = :isVisible WHERE id = :account`)
const contents = query<{ isVisible: boolean }>(
  `SELECT people_see_contents AS is_visible FROM accounts WHERE id = :account`,
  { isVisible: boolean },
)
const accountName = query<{ name: string }>(`SELECT name FROM accounts WHERE id = :account`)
const setPeopleRead = statement(`UPDATE accounts SET people_read_since = :since WHERE id = :account`)
const peopleRead = query<{ since: number | null }>(`
  SELECT people_read_since AS since FROM accounts WHERE id = :account`)
const requirePeopleReadSince = precondition(
  `EXISTS (SELECT 1 FROM accounts WHERE id = :account AND people_read_since IS :since)`,
)

export const profile = {
  reads: (account: AccountDb) => ({
    accountName: async () => (await account.one(accountName))!.name,
    /** Whether the texts of blocked messages are kept for people to see. */
    showsContents: async () => (await account.one(contents))?.isVisible ?? false,
    /**
     * Since when owners and admins can read what agents write to each other, in milliseconds since the epoch: 0 for
     * everything, null if they cannot.
     */
    peopleReadSince: async () => (await account.one(peopleRead))?.since ?? null,
  }),
  changes: (account: AccountDb) => ({
    rename: (name: string): Statement => account.bind(rename, { name }),
    /** Whether owners and admins must have a second factor. */
    requireSecondFactor: (isRequired: boolean): Statement => account.bind(requireSecondFactor, { isRequired }),
    /** Fails the unit unless this is since when owners and admins can read messages of agents when it runs. */
    requirePeopleReadSince: (since: number | null): Statement => account.bind(requirePeopleReadSince, { since }),
    /** Since when owners and admins can read what agents write to each other; null: not at all. */
    setPeopleRead: (since: number | null): Statement => account.bind(setPeopleRead, { since }),
    /** Whether the texts of blocked messages are kept for people to see. */
    showContents: (isVisible: boolean): Statement => account.bind(showContents, { isVisible }),
  }),
}
