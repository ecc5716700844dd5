/** Proof of an email address by a link that was sent to it. See docs/security.md, "Signing in". */
import type { User } from '../../store/global/users.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { revokeAllGrants } from '../oauth/grants.ts'

/** The inviter was shown the link, and the address is not proved since: the user may be the inviter. */
export function mayBeSomebodyElse({ registeredByShownLink, emailVerifiedAt }: User): boolean {
  return registeredByShownLink && emailVerifiedAt === null
}

/** Statements that remove everything with which someone else could get back in: also factors and identities. */
export function takeOver(store: Store, userId: string, at: number): Statement[] {
  const { users, secondFactors, sso } = store.global
  return [
    users.removePassword(userId),
    sso.removeIdentities(userId),
    ...secondFactors.removeAll(userId),
    ...endAccess(store, userId, at),
  ]
}

/** Statements that end all sessions, links and open consent pages of a user. */
export function endAccess({ global }: Store, userId: string, at: number): Statement[] {
  return [
    global.sessions.endOthers(userId, '', at),
    global.links.endAll(userId, at),
    // A consent in progress is a grant already and revoked with the others, or fails because its request is gone.
    global.oauth.requests.removeOfUser(userId),
  ]
}

/** Use an email link, which verifies the address. A user who may be someone else is taken over. */
export async function proveAddress(
  store: Store,
  user: User,
  link: {
    requireOpen: Statement
    use: Statement[]
    requestId: string | null
  },
): Promise<void> {
  const at = store.deps.now()
  const statements = [...link.use, store.global.users.verifyEmail(user.id, user.email, at)]
  if (!mayBeSomebodyElse(user)) {
    await store.write(statements)
    return
  }
  await revokeAllGrants(store, {
    userId: user.id,
    tool: 'prove_address',
    requestId: link.requestId,
    precondition: [link.requireOpen],
    statements: [...statements, ...takeOver(store, user.id, at)],
  })
}
