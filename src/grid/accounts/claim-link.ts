/** Proving the mailbox that signups named. The claim link alone does not: the agent has it too. Security: section 4. */
import { hashPassword } from '../../auth/passwords.ts'
import { hashForLookup, mintLinkToken } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from './accounts.ts'
import { openClaim } from './claim.ts'
import { againOnConflict } from '../retry-on-conflict.ts'
import { claimMail } from '../people/email-templates.ts'
import { linkLifetimeMs } from '../people/people.ts'
import { takeMailAttempt } from '../people/throttle.ts'

/**
 * Mail the owner of a claim a one-time link that proves their mailbox; `alias` names the agent that just signed up.
 * Who opens it is, or becomes, the person of that mailbox. `address` is the client's, as the limits count it: beyond
 * a limit there is no link and no mail. Fails with `link_expired`.
 */
export async function mailClaim(store: Store, token: string, address: string, alias?: string): Promise<void> {
  const { ownerEmail } = await openClaim(store, token)
  const { global, deps: { config, log, mail, now } } = store
  if (!(await takeMailAttempt(store, ownerEmail, address))) {
    log.info('A link was not mailed: over a limit', { kind: 'claim' })
    return
  }
  const proof = await mintLinkToken()
  const at = now()
  const link = { id: newId(), kind: 'claim' as const, tokenHash: proof.hash, userId: null, email: ownerEmail }
  await store.write([global.links.add({ ...link, expiresAt: at + linkLifetimeMs.claim }, at)])
  mail.send({ to: ownerEmail, ...claimMail(config, `${config.appUrl}/claim/${token}/${proof.token}`, alias) })
}

/** The mailbox that a proof link stands for, and its person if there is one. Fails with `link_expired`. */
export async function openProof(store: Store, token: string): Promise<{ email: string; isKnown: boolean }> {
  const link = await store.global.links.byToken('claim', hashForLookup(token), store.deps.now())
  if (!link?.email) throw new GridError('link_expired', 'This link was used already or has expired. Ask for a new one.')
  return { email: link.email, isKnown: (await store.global.users.byEmail(link.email)) !== undefined }
}

/**
 * Use a proof link up: the person of its mailbox, made with `name` and, if one was chosen, a password when there is
 * none yet. Resolves to the user's id. Fails with `link_expired` or `invalid_input`.
 */
export async function useProof(
  store: Store,
  token: string,
  input: { name: string; password: string },
): Promise<string> {
  const { global, deps: { now } } = store
  return await againOnConflict(async () => {
    const { email } = await openProof(store, token)
    const at = now()
    const use = global.links.use('claim', hashForLookup(token), at)
    const known = await global.users.byEmail(email)
    if (known) {
      await store.write([...use, global.users.proveEmail(known.id, email, at)])
      return known.id
    }
    const name = checkName(input.name, 'name')
    const passwordHash = input.password === '' ? null : await hashPassword(input.password)
    const id = newId()
    await store.write([...use, global.users.add({ id, email, name, passwordHash, verifiedAt: at }, at)])
    return id
  })
}
