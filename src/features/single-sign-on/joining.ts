/** Who may join an account through its provider. See docs/people.md, "Who joins an account". */
import { GridError } from '../../errors.ts'
import { authorize } from '../../grid/authorize.ts'
import { retryOnConflict } from '../../grid/retry-on-conflict.ts'
import { mayVouch } from '../../lib/issuers.ts'
import type { AccountStore, AcrossAccounts } from '../../store/account.ts'
import type { Identity } from '../../store/global/identities.ts'
import type { Statement } from '../../store/sql.ts'
import { domainOf, type SaidAddress } from './claims.ts'
import { allSso, type SsoProvider, ssoTables } from './store.ts'

/**
 * Checks the requirements for joining and linking: a verified address in the account's verified domain, and that the
 * user was not removed. Fails with an `SsoRefusal`, or resolves to statements that repeat the checks within the unit.
 */
export async function proveMember(
  account: AccountStore,
  user: string,
  { provider, said, identity }: { provider: SsoProvider; said: SaidAddress; identity: Identity },
): Promise<Statement[]> {
  const { read, change } = account.feature(ssoTables)
  const { domain, name } = provider
  const { email } = said
  if (email === undefined) {
    throw new SsoRefusal(
      'no_address',
      `${name} did not send your email address, so you cannot join. Its administrators can add the claim email; an ` +
        'owner of the account sees under Settings, Account, Single sign-on, which claims were received.',
    )
  }
  if (domainOf(email) !== domain) {
    throw new SsoRefusal('other_domain', `${name} signs people in only for addresses of ${domain}, not as ${email}.`)
  }
  if (!said.isVerified) {
    throw new SsoRefusal(
      'not_verified',
      `${name} does not report ${email} as verified, so it does not count. An owner of the account can confirm under ` +
        `Settings, Account, that addresses of ${domain} from ${name} count as verified.`,
    )
  }
  const comer = { user, email, issuer: identity.issuer, subject: identity.subject }
  const removed = await read.removalOf(comer)
  if (removed) {
    throw new SsoRefusal(
      'removed',
      'You were removed from this account, or left it as a viewer. Its owners see under Settings, Account, that you have signed in, and can ' +
        'let you in again.',
      removed.userId,
    )
  }
  return [change.requireNotRemoved(comer), change.requireVerified(domain)]
}

/** Why an account's provider refuses a sign-in, as shown to the account's owners. */
export type SsoRefusalReason = 'no_address' | 'not_verified' | 'other_domain' | 'removed' | 'address_taken'

export class SsoRefusal extends GridError {
  readonly reason: SsoRefusalReason
  /** Id of the removed member. */
  readonly userId: string | null

  constructor(reason: SsoRefusalReason, message: string, userId: string | null = null) {
    super('not_allowed', message)
    this.reason = reason
    this.userId = userId
  }
}

/** Readmits a removed member through the account's provider. They join at their next sign-in. */
export async function letIn(account: AccountStore, userId: string): Promise<{ userId: string }> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    if (!(await account.read.team.removal(userId))) {
      throw new GridError('member_not_found', 'Nobody with that id was removed, or an owner has already let them in.')
    }
    await account.write([...precondition, account.change.team.letIn(userId), ...letInSignIns(account, userId)])
    return { userId }
  })
}

/** Marks the sign-ins of a readmitted member as accepted. */
export function letInSignIns(account: AccountStore, userId: string): Statement[] {
  return [account.feature(ssoTables).change.letInSignIns(userId)]
}

/** Returns the issuers that the operator or the domain's owner trusts to verify this address. */
export async function vouchingIssuers({ feature, deps: { config } }: AcrossAccounts, email: string): Promise<string[]> {
  const domain = domainOf(email)
  const of = await feature(allSso).ofDomain(domain)
  const trusted = [
    ...(config.oidcIssuer !== undefined && config.oidcTrustedDomains.includes(domain) ? [config.oidcIssuer] : []),
    ...(of?.isTrusted ? [of.issuer] : []),
  ]
  // The organization is undefined, because identities are stored without it.
  return trusted.filter((issuer) => mayVouch(issuer, undefined, domain))
}
