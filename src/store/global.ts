/** Tables that belong to no account, and the look-ups that must cross accounts. */
import type { Crossings, Db } from './account.ts'
import { prepareAccounts } from './global/accounts.ts'
import { prepareActivityHeads } from './global/activity-heads.ts'
import { prepareArrivals } from './global/new-deliveries.ts'
import { prepareAttempts } from './global/attempts.ts'
import { prepareClaims } from './global/claims.ts'
import { prepareCredentials } from './global/credentials.ts'
import { prepareInstances } from './global/instances.ts'
import { prepareInvitations } from './global/invitations.ts'
import { prepareLinks } from './global/links.ts'
import { prepareOAuth } from './global/oauth.ts'
import { prepareRetention } from './global/retention.ts'
import { prepareSessions } from './global/sessions.ts'
import { prepareSignups } from './global/signups.ts'
import { prepareUsers } from './global/users.ts'

export type GlobalTables = ReturnType<typeof prepareGlobalTables>

export function prepareGlobalTables(db: Db, crossings: Crossings) {
  return {
    accounts: prepareAccounts(db),
    activityHeads: prepareActivityHeads(db, crossings),
    arrivals: prepareArrivals(db, crossings),
    attempts: prepareAttempts(db),
    claims: prepareClaims(db, crossings),
    credentials: prepareCredentials(db, crossings),
    instances: prepareInstances(db, crossings),
    invitations: prepareInvitations(db, crossings),
    links: prepareLinks(db),
    oauth: prepareOAuth(db, crossings),
    retention: prepareRetention(db, crossings),
    sessions: prepareSessions(db),
    signups: prepareSignups(db, crossings),
    users: prepareUsers(db, crossings),
  }
}
