/**
 * The email that verifies the owner of a claim. The claim link of the signup does not, because the agent has it too;
 * the claim email carries the same link with a second, secret token. See docs/security.md, "Claims".
 */
import { hashPassword } from '../../auth/passwords.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import type { Store } from '../../store/store.ts'
import { claimEmail } from '../people/email-templates.ts'
import { linkLifetimeMs } from '../people/people.ts'
import { proveAddress } from '../people/prove-address.ts'
import { takeEmailAttempt } from '../people/throttle.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { checkName } from './accounts.ts'
import { openClaim } from './claim.ts'

/**
 * Send the owner named by a claim a one-time link that verifies their email address and signs them in. `alias` is the
 * agent that just signed up. `address` is the client's, as the limits count it; over a limit nothing is sent.
 * Fails with `link_expired`.
 */
export async function sendClaimEmail(store: Store, token: string, address: string, alias?: string): Promise<void> {
  const { ownerEmail } = await openClaim(store, token)
  const { global, deps: { config, log, email: emailSender, now } } = store
  if (!(await takeEmailAttempt(store, { purpose: 'claim', email: ownerEmail, address }))) {
    log.info('An email link was not sent: limit reached', { kind: 'claim' })
    return
  }
  const emailToken = await mintLinkToken()
  const at = now()
  const link = { id: newId(), kind: 'claim' as const, tokenHash: emailToken.hash, userId: null, email: ownerEmail }
  await store.write([global.links.add({ ...link, expiresAt: at + linkLifetimeMs.claim }, at)])
  const url = `${config.appUrl}/claim/${token}/${emailToken.token}`
  emailSender.send({ to: ownerEmail, ...claimEmail(config, url, alias) })
}

/** The email address of a claim email's link, and whether it has a user. Does not use it. Fails with `link_expired`. */
export async function findClaimEmailLink(store: Store, token: string): Promise<{ email: string; isKnown: boolean }> {
  const link = await store.global.links.byToken('claim', hashForLookup(token), store.deps.now())
  if (!link?.email) throw new GridError('link_expired', 'This link was used already or has expired. Ask for a new one.')
  return { email: link.email, isKnown: (await store.global.users.byEmail(link.email)) !== undefined }
}

/**
 * Use the link of a claim email, which verifies its address. If the address has no user yet, one is created with
 * `name` and `password` (empty for none). Resolves to the user's id.
 * Fails with `link_expired`, `invalid_input` or `write_conflict`.
 */
export async function redeemClaimEmailLink(
  store: Store,
  token: string,
  input: { name: string; password: string },
  requestId: string | null,
): Promise<string> {
  const { global, deps: { now } } = store
  return await retryOnConflict(async () => {
    const { email } = await findClaimEmailLink(store, token)
    const at = now()
    const hash = hashForLookup(token)
    const use = global.links.use('claim', hash, at)
    const known = await global.users.byEmail(email)
    if (known) {
      await proveAddress(store, known, { requireOpen: global.links.requireOpen('claim', hash, at), use, requestId })
      return known.id
    }
    const name = checkName(input.name, 'name')
    const passwordHash = input.password === '' ? null : await hashPassword(input.password)
    const id = newId()
    await store.write([...use, global.users.add({ id, email, name, passwordHash, verifiedAt: at }, at)])
    return id
  })
}
