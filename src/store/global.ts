/** Tables that belong to no account, and the cross-account queries. */
import { lazy } from '../lib/lazy.ts'
import type { CrossAccountQueries, Db } from './driver/db.ts'
import { accounts } from './global/accounts.ts'
import { attempts } from './global/attempts.ts'
import { backups } from './global/backups.ts'
import { claims } from './global/claims.ts'
import { clock } from './global/clock.ts'
import { prepareConversations } from './global/conversations.ts'
import { type Credential, credentials } from './global/credentials.ts'
import { instances } from './global/instances.ts'
import { invitations } from './global/invitations.ts'
import { links } from './global/links.ts'
import { livePlaces } from './global/live-places.ts'
import { newDeliveries } from './global/new-deliveries.ts'
import { notifications } from './global/notifications.ts'
import { oauth } from './global/oauth.ts'
import { publicAgents } from './global/public-agents.ts'
import { retention } from './global/retention.ts'
import { sealedTokens } from './global/sealed-tokens.ts'
import { secondFactors } from './global/second-factors.ts'
import { sessions } from './global/sessions.ts'
import { signingKeys } from './global/signing-keys.ts'
import { signups } from './global/signups.ts'
import { threadProjection } from './global/thread-projection.ts'
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
    accounts: () => accounts(sql),
    newDeliveries: () => newDeliveries(sql),
    attempts: () => attempts(sql),
    backups: () => backups(sql),
    claims: () => claims(sql),
    clock: () => clock(sql),
    conversations: () => prepareConversations(db, crossAccountQueries),
    credentials: () => credentials(sql, keys),
    instances: () => instances(sql),
    invitations: () => invitations(sql),
    links: () => links(sql),
    livePlaces: () => livePlaces(sql),
    notifications: () => notifications(sql),
    oauth: () => oauth(sql),
    publicAgents: () => publicAgents(sql),
    retention: () => retention(sql),
    sealedTokens: () => sealedTokens(sql),
    secondFactors: () => secondFactors(sql),
    sessions: () => sessions(sql),
    signingKeys: () => signingKeys(sql),
    signups: () => signups(sql),
    threadProjection: () => threadProjection(sql),
    users: () => users(sql),
  })
}
