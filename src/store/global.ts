/** Tables that belong to no account, and the cross-account queries. */
import { lazy } from '../lib/lazy.ts'
import type { CrossAccountQueries, Db } from './driver/db.ts'
import { prepareAccounts } from './global/accounts.ts'
import { attempts } from './global/attempts.ts'
import { prepareBackups } from './global/backups.ts'
import { prepareClaims } from './global/claims.ts'
import { prepareClock } from './global/clock.ts'
import { prepareConversations } from './global/conversations.ts'
import { type Credential, credentials } from './global/credentials.ts'
import { prepareHealth } from './global/health.ts'
import { prepareInstances } from './global/instances.ts'
import { invitations } from './global/invitations.ts'
import { links } from './global/links.ts'
import { prepareLivePlaces } from './global/live-places.ts'
import { prepareNewDeliveries } from './global/new-deliveries.ts'
import { prepareNotifications } from './global/notifications.ts'
import { oauth } from './global/oauth.ts'
import { preparePresence } from './global/presence.ts'
import { preparePublicAgents } from './global/public-agents.ts'
import { prepareRetention } from './global/retention.ts'
import { prepareSealedTokens } from './global/sealed-tokens.ts'
import { secondFactors } from './global/second-factors.ts'
import { sessions } from './global/sessions.ts'
import { prepareSigningKeys } from './global/signing-keys.ts'
import { signups } from './global/signups.ts'
import { prepareThreadProjection } from './global/thread-projection.ts'
import { users } from './global/users.ts'
import type { KeyCache } from './key-cache.ts'
import type { Db as SqlDb } from './sql.ts'

export type GlobalTables = ReturnType<typeof prepareGlobalTables>

/** The statements of a table are built when it is first used: a small grid never needs most of them. */
export function prepareGlobalTables(
  db: Db,
  sql: SqlDb,
  crossAccountQueries: CrossAccountQueries,
  keys?: KeyCache<Credential>,
) {
  return lazy({
    accounts: () => prepareAccounts(db),
    newDeliveries: () => prepareNewDeliveries(db, crossAccountQueries),
    attempts: () => attempts(sql),
    backups: () => prepareBackups(db),
    claims: () => prepareClaims(db, crossAccountQueries),
    clock: () => prepareClock(db, crossAccountQueries),
    conversations: () => prepareConversations(db, crossAccountQueries),
    credentials: () => credentials(sql, keys),
    health: () => prepareHealth(db, crossAccountQueries),
    instances: () => prepareInstances(db, crossAccountQueries),
    invitations: () => invitations(sql),
    links: () => links(sql),
    livePlaces: () => prepareLivePlaces(db, crossAccountQueries),
    notifications: () => prepareNotifications(db, crossAccountQueries),
    oauth: () => oauth(sql),
    presence: () => preparePresence(db, crossAccountQueries),
    publicAgents: () => preparePublicAgents(db, crossAccountQueries),
    retention: () => prepareRetention(db, crossAccountQueries),
    sealedTokens: () => prepareSealedTokens(db, crossAccountQueries),
    secondFactors: () => secondFactors(sql),
    sessions: () => sessions(sql),
    signingKeys: () => prepareSigningKeys(db),
    signups: () => signups(sql),
    threadProjection: () => prepareThreadProjection(db, crossAccountQueries),
    users: () => users(sql),
  })
}
