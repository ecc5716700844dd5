/** Tables that belong to no account, and the look-ups that must cross accounts. */
import type { Crossings, Db } from './account.ts'
import { prepareAccounts } from './global/accounts.ts'
import { prepareArrivals } from './global/arrivals.ts'
import { prepareCredentials } from './global/credentials.ts'
import { prepareOAuth } from './global/oauth.ts'
import { prepareSignups } from './global/signups.ts'
import { prepareUsers } from './global/users.ts'

export type GlobalTables = ReturnType<typeof prepareGlobalTables>

export function prepareGlobalTables(db: Db, crossings: Crossings) {
  return {
    accounts: prepareAccounts(db),
    arrivals: prepareArrivals(db, crossings),
    credentials: prepareCredentials(db, crossings),
    oauth: prepareOAuth(db, crossings),
    signups: prepareSignups(db, crossings),
    users: prepareUsers(db),
  }
}
