/** Verifies an email address by a link that was sent to it. See docs/people.md, "Signing in". */
import type { SignedInUser } from '../../auth/actor.ts'
import { isSameIssuer } from '../../lib/issuers.ts'
import type { Identity, LinkedIdentity } from '../../store/global/identities.ts'
import type { User } from '../../store/global/users.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { revokeAllGrants } from '../oauth/grants.ts'

/** Whether the user may be the inviter, who was shown the link, because the address has not been verified since. */
export function mayBeSomebodyElse({ registeredByShownLink, emailVerifiedAt }: User): boolean {
  return registeredByShownLink && emailVerifiedAt === null
}

/**
 * Returns statements that remove every way in which someone else could sign in again, including factors and all
 * identities except `kept`.
 */
export function takeOver(store: Store, userId: string, at: number, kept: readonly Identity[] = []): Statement[] {
  const { identities, secondFactors, users } = store.global
  return [
    users.removePassword(userId),
    identities.removeAll(userId, kept),
    ...secondFactors.removeAll(userId),
    ...endAccess(store, userId, at),
  ]
}

/** Returns statements that end all sessions, links and open consent pages of a user. */
export function endAccess({ global }: Store, userId: string, at: number): Statement[] {
  return [
    global.sessions.endOthers(userId, '', at),
    global.links.endAll(userId, at),
    // A consent in progress either is already a grant, which is revoked with the others, or fails because its request
    // is gone.
    global.oauth.requests.removeOfUser(userId),
  ]
}

/**
 * Splits the identities of a user who may be someone else into those to keep and those to remove. Somebody may have
 * prepared an identity for the address's owner. So only two kinds are kept: the one that started `session`, in which
 * the link is followed, and those whose issuer reported this address and vouches for addresses of the domain.
 */
export async function sortIdentities(
  store: Store,
  user: Pick<User, 'id' | 'email'>,
  session: SignedInUser | undefined,
): Promise<{ kept: Identity[]; removed: Identity[] }> {
  const own = session?.user.id === user.id ? session.identity : undefined
  const vouching = (await Promise.all(
    store.hooks.map(({ vouchingIssuers }) => vouchingIssuers?.(store, user.email) ?? []),
  )).flat()
  const isKept = ({ issuer, subject, email }: LinkedIdentity) =>
    (issuer === own?.issuer && subject === own.subject) ||
    (email === user.email && vouching.some((known) => isSameIssuer(known, issuer)))
  const known = await store.global.identities.ofUser(user.id)
  return { kept: known.filter(isKept), removed: known.filter((identity) => !isKept(identity)) }
}

/**
 * Uses up an email link, which verifies the address, and takes over a user who may be someone else. Resolves to whether
 * the user lost an identity at a sign-in provider.
 */
export async function proveAddress(
  store: Store,
  user: User,
  link: {
    requireOpen: Statement
    use: Statement[]
    session: SignedInUser | undefined
    requestId: string | null
  },
): Promise<{ isUnlinked: boolean }> {
  const at = store.deps.now()
  const statements = [...link.use, store.global.users.verifyEmail(user.id, user.email, at)]
  if (!mayBeSomebodyElse(user)) {
    await store.write(statements)
    return { isUnlinked: false }
  }
  const { kept, removed } = await sortIdentities(store, user, link.session)
  await revokeAllGrants(store, {
    userId: user.id,
    tool: 'prove_address',
    requestId: link.requestId,
    precondition: [link.requireOpen],
    statements: [...statements, ...takeOver(store, user.id, at, kept)],
  })
  return { isUnlinked: removed.length > 0 }
}
