/** One-time links to people's mailboxes. */
import { hashForLookup, mintLinkToken } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import type { Statement } from '../../store/driver/binding.ts'
import type { LinkKind } from '../../store/global/links.ts'
import type { Store } from '../../store/store.ts'
import { linkExpired, linkLifetimeMs } from './people.ts'

/** The kinds that go to the mailbox of a person; those of a claim make one (`claim-proof.ts`). */
export type MailedLinkKind = Exclude<LinkKind, 'set_up' | 'claim'>

const paths: Record<MailedLinkKind, string> = {
  verify: '/verify',
  sign_in: '/sign-in-link',
  reset: '/reset',
  change_email: '/new-address',
}

/**
 * A new link for a mailbox. Without a person it opens nothing: whoever asks about an address that nobody has gets
 * the same work done (security E1).
 */
export async function newLink(
  { global, deps: { config, now } }: Store,
  kind: MailedLinkKind,
  to: { userId: string | null; email: string },
): Promise<{ url: string; statement: Statement }> {
  const { token, hash } = await mintLinkToken()
  const at = now()
  const link = { id: newId(), kind, tokenHash: hash, ...to, expiresAt: at + linkLifetimeMs[kind] }
  return { url: `${config.appUrl}${paths[kind]}/${token}`, statement: global.links.add(link, at) }
}

/** Whose link this is, if it can still be used; looking does not use it up (security O15). Fails with `link_expired`. */
export async function openLink(
  { global, deps: { now } }: Store,
  kind: MailedLinkKind,
  token: string,
): Promise<{ userId: string; email: string }> {
  const link = await global.links.byToken(kind, hashForLookup(token), now())
  if (!link?.userId || !link.email) throw linkExpired()
  return { userId: link.userId, email: link.email }
}

/** Do what a link is for, in one unit with its use. Fails with `link_expired` when something was faster. */
export async function withLink(
  store: Store,
  kind: MailedLinkKind,
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
