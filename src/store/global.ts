/** Tables that belong to no account, and the cross-account queries. */
import { lazy } from '../lib/lazy.ts'
import type { CrossAccountQueries, Db } from './driver/db.ts'
import { prepareAccounts } from './global/accounts.ts'
import { prepareActivityHeads } from './global/activity-heads.ts'
import { prepareAttempts } from './global/attempts.ts'
import { prepareBackups } from './global/backups.ts'
import { prepareClaims } from './global/claims.ts'
import { prepareClock } from './global/clock.ts'
import { prepareTurns } from './global/turns.ts'
import { prepareCredentials } from './global/credentials.ts'
import { prepareHealth } from './global/health.ts'
import { prepareInstances } from './global/instances.ts'
import { prepareInvitations } from './global/invitations.ts'
import { prepareLinks } from './global/links.ts'
import { prepareLivePlaces } from './global/live-places.ts'
import { prepareNewDeliveries } from './global/new-deliveries.ts'
import { prepareNotifications } from './global/notifications.ts'
import { prepareOAuth } from './global/oauth.ts'
import { preparePresence } from './global/presence.ts'
import { preparePublicAgents } from './global/public-agents.ts'
import { prepareRetention } from './global/retention.ts'
import { prepareSealedTokens } from './global/sealed-tokens.ts'
import { prepareSecondFactors } from './global/second-factors.ts'
import { prepareSessions } from './global/sessions.ts'
import { prepareSigningKeys } from './global/signing-keys.ts'
import { prepareSignups } from './global/signups.ts'
import { prepareThreadProjection } from './global/thread-projection.ts'
import { prepareUsers } from './global/users.ts'
import type { Lookups } from './lookups.ts'

export type GlobalTables = ReturnType<typeof prepareGlobalTables>

/** The statements of a table are built when it is first used: a small grid never needs most of them. */
export function prepareGlobalTables(db: Db, crossAccountQueries: CrossAccountQueries, lookups: Lookups) {
  return lazy({
    accounts: () => prepareAccounts(db),
    activityHeads: () => prepareActivityHeads(db, crossAccountQueries),
    newDeliveries: () => prepareNewDeliveries(db, crossAccountQueries),
    attempts: () => prepareAttempts(db),
    backups: () => prepareBackups(db),
    claims: () => prepareClaims(db, crossAccountQueries),
    clock: () => prepareClock(db, crossAccountQueries),
    credentials: () => prepareCredentials(db, crossAccountQueries, lookups),
    health: () => prepareHealth(db, crossAccountQueries),
    instances: () => prepareInstances(db, crossAccountQueries),
    invitations: () => prepareInvitations(db, crossAccountQueries),
    links: () => prepareLinks(db),
    livePlaces: () => prepareLivePlaces(db, crossAccountQueries),
    notifications: () => prepareNotifications(db, crossAccountQueries),
    oauth: () => prepareOAuth(db, crossAccountQueries),
    presence: () => preparePresence(db, crossAccountQueries),
    publicAgents: () => preparePublicAgents(db, crossAccountQueries),
    retention: () => prepareRetention(db, crossAccountQueries),
    sealedTokens: () => prepareSealedTokens(db, crossAccountQueries),
    secondFactors: () => prepareSecondFactors(db, crossAccountQueries),
    sessions: () => prepareSessions(db),
    signingKeys: () => prepareSigningKeys(db),
    signups: () => prepareSignups(db, crossAccountQueries),
    threadProjection: () => prepareThreadProjection(db, crossAccountQueries),
    turns: () => prepareTurns(db, crossAccountQueries),
    users: () => prepareUsers(db, crossAccountQueries),
  })
}
