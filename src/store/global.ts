/** Tables that belong to no account, and cross-account queries. */
import { accounts, publicAgents } from './global/accounts.ts'
import { attempts, signups } from './global/attempts.ts'
import { backups, clock, instances } from './global/backups.ts'
import { claims } from './global/claims.ts'
import { credentials, type KeyCache } from './global/credentials.ts'
import { identities } from './global/identities.ts'
import { keyChecks } from './global/key-checks.ts'
import { invitations, links } from './global/links.ts'
import { conversations, livePlaces } from './global/conversations.ts'
import { oauth } from './global/oauth.ts'
import { pulses } from './global/pulse.ts'
import { outboxes } from './global/outboxes.ts'
import { taskNotices } from './global/task-notices.ts'
import { traffic } from './global/traffic.ts'
import { turns } from './global/turns.ts'
import { waits } from './global/waits.ts'
import { reservations } from './global/reservations.ts'
import { scheduled } from './global/scheduled.ts'
import { retention } from './global/retention.ts'
import { sealedTokens } from './global/sealed-tokens.ts'
import { searchIndex } from './global/search-index.ts'
import { challenges } from './global/challenges.ts'
import { secondFactors } from './global/second-factors.ts'
import { sessions } from './global/sessions.ts'
import { signingKeys } from './global/signing-keys.ts'
import { users } from './global/users.ts'
import type { Db } from './sql.ts'

export type GlobalTables = ReturnType<typeof globalTables>

/** `keys` is undefined for a remote database. */
export function globalTables(db: Db, keys?: KeyCache) {
  return {
    accounts: accounts(db),
    conversations: conversations(db),
    attempts: attempts(db),
    backups: backups(db),
    claims: claims(db),
    clock: clock(db),
    credentials: credentials(db, keys),
    identities: identities(db),
    instances: instances(db),
    invitations: invitations(db),
    links: links(db),
    keyChecks: keyChecks(db),
    livePlaces: livePlaces(db),
    oauth: oauth(db),
    publicAgents: publicAgents(db),
    pulses: pulses(db),
    outboxes: outboxes(db),
    reservations: reservations(db),
    scheduled: scheduled(db),
    retention: retention(db),
    sealedTokens: sealedTokens(db),
    searchIndex: searchIndex(db),
    challenges: challenges(db),
    secondFactors: secondFactors(db),
    sessions: sessions(db),
    signingKeys: signingKeys(db),
    signups: signups(db),
    taskNotices: taskNotices(db),
    traffic: traffic(db),
    turns: turns(db),
    users: users(db),
    waits: waits(db),
  }
}
