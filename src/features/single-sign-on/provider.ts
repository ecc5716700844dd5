/** An account's sign-in provider, set up by its owners. See docs/people.md, "Single sign-on". */
import { callingUser, requireConfirmed, requirePermission } from '../../auth/actor.ts'
import { discover, OtherIssuer } from './oidc.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { isOfManyTenants } from '../../lib/issuers.ts'
import { plainName } from '../../lib/names.ts'
import { parseAllowedUrl } from '../../lib/outbound/egress-policy.ts'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { mintLinkToken } from '../../lib/secrets.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore, FeatureCondition } from '../../store/account.ts'
import { allSso, type MissingDomain, type SsoProvider, ssoTables } from './store.ts'
import type { Store } from '../../store/store.ts'
import { recordActivity } from '../../grid/activity.ts'
import { authorize } from '../../grid/authorize.ts'
import { retryOnConflict } from '../../grid/retry-on-conflict.ts'
import { checkName } from '../../grid/check-name.ts'
import { stopRequiringProvider } from '../../grid/people/team.ts'

/** How long people can still sign in after the domain's record disappears. */
const graceMs = 7 * day
const domainsAtATime = 100
const maxRoleLines = 50

interface ProviderInput {
  name: string
  issuer: string
  clientId: string
  clientSecret: string
  domain: string
  roleClaim: string
  /** Lines such as `admin: platform-team`. */
  roles: string
  emailClaim?: string
  isTrusted?: boolean
  scopes?: string
}

export type { SsoProvider }

/** The text of the TXT record that proves control over a domain. */
export function recordOf({ proof }: Pick<SsoProvider, 'proof'>): string {
  return `agent-grid-verification=${proof}`
}

/**
 * Creates or replaces the account's provider. People can sign in once its domain is verified. If the issuer does not
 * respond correctly, the provider is saved as a draft, which cannot be used to sign in. Resolves to the problem with
 * the draft, or to an empty string.
 */
export async function saveProvider(account: AccountStore, input: ProviderInput): Promise<string> {
  const { deps } = account
  const { read, change } = account.feature(ssoTables)
  const { config, now } = deps
  requirePermission(account.actor, 'own')
  requireConfirmed(account.actor, now())
  const issuer = input.issuer.trim()
  if (!parseAllowedUrl(issuer, config)) throw invalidInput('It begins with https://.', 'issuer')
  const domain = input.domain.trim().toLowerCase()
  if (domain.length > 253 || !/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/.test(domain)) {
    throw invalidInput('A domain looks like company.example.', 'domain')
  }
  const name = checkName(input.name, 'name')
  const clientId = checkText(input.clientId, 'clientId')
  const clientSecret = checkText(input.clientSecret, 'clientSecret')
  const roleClaim = input.roleClaim.trim().slice(0, 100)
  const roles = parseRoles(input.roles)
  const emailClaim = (input.emailClaim ?? '').trim().slice(0, 100)
  const isTrusted = input.isTrusted ?? false
  if (isTrusted && isOfManyTenants(issuer)) {
    throw invalidInput('This issuer is open to everyone, so its addresses never count as verified.', 'isTrusted')
  }
  const scopes = (input.scopes ?? '').trim().replace(/\s+/g, ' ')
  if (!/^[\x21\x23-\x5b\x5d-\x7e ]{0,200}$/.test(scopes)) {
    throw invalidInput('Scopes are words, with spaces between them.', 'scopes')
  }
  const { safeStream: send, log } = deps
  const asked = { issuer, clientId, clientSecret, scopes, redirectUri: '', wanted: [], send, log, now }
  const draft = await discover(asked).then(() => '', (error: unknown) => {
    if (error instanceof OtherIssuer) {
      return `The provider reports the issuer ${plainName(error.said, 300)}. Enter this issuer.`
    }
    if (!(error instanceof GridError)) throw error
    return error.cause instanceof RemoteError ? `${error.message} ${error.cause.why}` : error.message
  })
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, now())
    const before = await read.get()
    const id = before?.id ?? newId()
    const proof = before?.proof ?? mintLinkToken().token
    const secret = await account.seal('sso_providers', id, clientSecret)
    const isAsBefore = before?.draft === '' && before.issuer === issuer && before.clientId === clientId
    const next = {
      ...{ name, issuer, clientId, domain, roleClaim, roles, emailClaim, isTrusted, scopes },
      // A provider that responded before does not become a draft, because it may be unavailable only temporarily.
      draft: isAsBefore ? '' : draft,
    }
    account.changed(before ? { ...before, clientSecret: '' } : {}, next)
    const isOther = before !== undefined && (before.issuer !== issuer || before.domain !== domain)
    await account.write([
      ...precondition,
      change.save({ id, proof, ...next }, secret),
      ...(isOther ? [change.endSessions(now())] : []),
    ])
  })
  return draft
}

function checkText(text: string, field: string): string {
  const trimmed = text.trim()
  if (!/^[\x21-\x7e]{1,500}$/.test(trimmed)) throw invalidInput('Use 1 to 500 printable ASCII characters.', field)
  return trimmed
}

/** Parses the role for each value of the claim. */
function parseRoles(text: string): SsoProvider['roles'] {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line !== '')
  if (lines.length > maxRoleLines) throw invalidInput(`At most ${maxRoleLines} lines.`, 'roles')
  return Object.fromEntries(lines.map((line) => {
    const [, role, value] = line.match(/^(admin|member|viewer)\s*:\s*(.{1,200})$/) ?? []
    if (value === undefined) {
      throw invalidInput('Each line is a role, a colon and a value: admin: platform-team.', 'roles')
    }
    return [value, role as SsoProvider['roles'][string]]
  }))
}

/** Looks up the domain's record. Resolves to whether the domain is verified now. Fails with `invalid_input`. */
export async function verifyDomain(account: AccountStore): Promise<boolean> {
  await authorize(account, 'own')
  return await checkDomain(account)
}

async function checkDomain(account: AccountStore): Promise<boolean> {
  const { deps: { now, resolveTxt } } = account
  const { read, change } = account.feature(ssoTables)
  const provider = await read.get()
  if (!provider) throw new GridError('not_found', 'The account has no single sign-on.')
  const { domain } = provider
  // If no name server responds, the record counts as missing. Owners have days to fix it.
  const isThere = (await resolveTxt(domain).catch((): string[] => [])).includes(recordOf(provider))
  const at = now()
  const missingSince = isThere ? null : provider.missingSince ?? (provider.verifiedAt === null ? null : at)
  const isLost = missingSince !== null && at - missingSince >= graceMs
  const verifiedAt = isThere ? provider.verifiedAt ?? at : isLost ? null : provider.verifiedAt
  try {
    await account.write([
      change.setVerified({ domain, verifiedAt, missingSince }, at),
      ...(isLost ? [change.endSessions(at)] : []),
    ])
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    throw invalidInput('Another account has verified this domain. Remove its record there first.', 'domain')
  }
  return verifiedAt !== null
}

/** Looks up the verified domains that have not been checked for a day. */
export async function checkDomains(store: Store): Promise<void> {
  const until = store.deps.now() - day
  for (const { account: id } of await store.feature(allSso).toCheck(until, domainsAtATime)) {
    const account = store.account(id, { type: 'system', job: 'check-domain' })
    const was = await account.feature(ssoTables).read.get()
    const isVerified = await checkDomain(account)
    if (isVerified || !was) continue
    const call = { tool: 'lose_domain', arguments: { domain: was.domain }, requestId: null }
    await recordActivity(account, call, () => Promise.resolve())
  }
}

/**
 * Sets whether members must sign in with the provider. Owners with a second factor can still sign in another way, so
 * the caller must have a second factor. Programs and agents keep their access.
 */
export async function requireProvider(account: AccountStore, { isRequired }: { isRequired: boolean }): Promise<void> {
  if (!isRequired) return await stopRequiringProvider(account)
  const { read, change } = account.feature(ssoTables)
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, account.deps.now())
    const { actor } = account
    const hasFactor = actor.type === 'system' ||
      (await account.read.team.member(callingUser(actor).userId))?.hasSecondFactor
    if (!hasFactor) {
      throw invalidInput(
        'Add a second factor of your own first. It is your way in while the provider is down.',
        'required',
      )
    }
    const domain = (await read.get())?.domain ?? ''
    await account.write([...precondition, change.requireVerified(domain), change.require()])
  })
}

/** Removes the provider and ends the sessions that it started. Members can use other sign-in methods. */
export async function removeProvider(account: AccountStore): Promise<void> {
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, account.deps.now())
    const { change } = account.feature(ssoTables)
    await account.write([...precondition, change.remove(), change.endSessions(account.deps.now())])
  })
}

/** Domains whose record is missing, for Attention. A lost domain has level 2, a domain in its grace period level 1. */
export async function missingDomains(account: AccountStore): Promise<FeatureCondition<MissingDomain>[]> {
  const found = await account.feature(ssoTables).read.missing()
  return found.map((of) => ({
    kind: 'domain',
    subject: of.domain,
    since: of.missingSince,
    level: of.verifiedAt === null ? 2 : 1,
    of,
  }))
}
