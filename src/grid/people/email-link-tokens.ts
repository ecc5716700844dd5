/** Creation and use of one-time email links. See docs/security.md, "Email links". */
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import type { Statement } from '../../store/sql.ts'
import type { LinkKind } from '../../store/global/links.ts'
import type { Store } from '../../store/store.ts'
import { linkExpired, linkLifetimeMs } from './people.ts'

/** The kinds that are sent to users. A claim email may go to an address that has no user yet (`claim-email.ts`). */
export type EmailLinkKind = Exclude<LinkKind, 'set_up' | 'claim'>

const paths: Record<EmailLinkKind, string> = {
  verify: '/verify',
  sign_in: '/sign-in-link',
  reset: '/reset',
  change_email: '/new-address',
}

/**
 * A new link and the statement that stores it. With `userId` null the link can never be used: it is stored only so
 * that unknown addresses take the same work as known ones. See docs/security.md, "Enumeration and timing".
 */
export async function createEmailLink(
  { global, deps: { config, now } }: Store,
  kind: EmailLinkKind,
  to: { userId: string | null; email: string },
  lifetimeMs = linkLifetimeMs[kind],
): Promise<{ url: string; statement: Statement }> {
  const { token, hash } = await mintLinkToken()
  const at = now()
  const link = { id: newId(), kind, tokenHash: hash, ...to, expiresAt: at + lifetimeMs }
  return { url: `${config.appUrl}${paths[kind]}/${token}`, statement: global.links.add(link, at) }
}

/** The user and address of a link that can still be used. Does not use it. Fails with `link_expired`. */
export async function findEmailLink(
  { global, deps: { now } }: Store,
  kind: EmailLinkKind,
  token: string,
): Promise<{ userId: string; email: string }> {
  const link = await global.links.byToken(kind, hashForLookup(token), now())
  if (!link?.userId || !link.email) throw linkExpired()
  return { userId: link.userId, email: link.email }
}

/** Use a link and run `statements` in the same unit. Fails with `link_expired` if another request used it first. */
export async function redeemEmailLink(
  store: Store,
  kind: EmailLinkKind,
  token: string,
  statements: Statement[],
): Promise<void> {
  try {
    await store.write([...store.global.links.use(kind, hashForLookup(token), store.deps.now()), ...statements])
  } catch (error) {
    if (error instanceof GridError && error.code === 'write_conflict') throw linkExpired()
    throw error
  }
}
