/** Reads a user's address and role from a provider's claims. See docs/people.md, "Single sign-on". */
import { claimAt, type OidcUser } from './oidc.ts'
import { isSameIssuer, mayVouch } from '../../lib/issuers.ts'
import { normaliseEmail, plainName } from '../../lib/names.ts'
import type { SignInReport } from './store.ts'
import type { SsoProvider } from './store.ts'

/** The rules for reading a provider's claims. */
export interface ClaimRules {
  /** The issuer as configured. */
  issuer: string
  /** The claim that contains the address, used where the issuer is trusted. Empty means `email`. */
  emailClaim: string
  /** Domains whose addresses count as verified because an owner or the operator trusts the issuer. */
  trustedDomains: readonly string[]
}

export interface SaidAddress {
  /** Undefined if the provider sends no usable address. */
  email: string | undefined
  isVerified: boolean
}

/** Returns a user's address. Claims other than `email` are used only where the issuer is trusted. */
export function addressOf({ issuer, claims }: OidcUser, rules: ClaimRules): SaidAddress {
  const { emailClaim, trustedDomains } = rules
  // One configuration can cover many issuers, but only one of them is trusted.
  const isTrusted = isSameIssuer(issuer, rules.issuer)
  const isVouched = (email: string | undefined) =>
    isTrusted && email !== undefined && trustedDomains.includes(domainOf(email)) &&
    mayVouch(issuer, claims.hd, domainOf(email))
  const configured = emailClaim === '' ? undefined : addressIn(claimAt(claims, emailClaim))
  if (isVouched(configured)) return { email: configured, isVerified: true }
  const email = addressIn(claims.email)
  const isSaid = claims.email_verified === true || claims.email_verified === 'true'
  return { email, isVerified: email !== undefined && (isSaid || isVouched(email)) }
}

function addressIn(value: unknown): string | undefined {
  try {
    return typeof value === 'string' ? normaliseEmail(value, 'email') : undefined
  } catch {
    return undefined
  }
}

export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1)
}

type ClaimedRole = SsoProvider['roles'][string]
const strongestFirst = ['admin', 'member', 'viewer'] as const

/**
 * Returns the role from the claim. Null if the claim is absent or none of its values stands for a role. Undefined if no
 * claim is configured or the provider could not send it.
 */
export function roleOf({ roleClaim, roles }: SsoProvider, who: OidcUser): ClaimedRole | null | undefined {
  if (roleClaim === '') return undefined
  const value = claimAt(who.claims, roleClaim)
  if (value === undefined && notesOf(roleClaim, who).length > 0) return undefined
  const found = textsIn(value).flatMap((text) => rolesIn(roles, text))
  return strongestFirst.find((role) => found.includes(role)) ?? null
}

/**
 * Finds the roles that a text stands for. Tries the complete text first, then its parts between commas, then its words
 * if each of them stands for a role.
 */
function rolesIn(roles: SsoProvider['roles'], text: string): ClaimedRole[] {
  const whole = roleNamed(roles, text)
  if (whole) return [whole]
  const pieces = text.split(',').map((piece) => piece.trim()).filter((piece) => piece !== '')
  if (pieces.length > 1) return pieces.flatMap((piece) => rolesIn(roles, piece))
  const words = text.split(/\s+/).filter((word) => word !== '').map((word) => roleNamed(roles, word))
  const known = words.filter((role) => role !== undefined)
  return known.length === words.length ? known : []
}

function roleNamed(roles: SsoProvider['roles'], name: string): ClaimedRole | undefined {
  return Object.hasOwn(roles, name) ? roles[name] : undefined
}

function textsIn(value: unknown): string[] {
  return [value].flat().filter((one) => ['string', 'number', 'boolean'].includes(typeof one)).map(String)
}

/** Returns reasons why a claim may be missing although it exists. */
function notesOf(claim: string, { claims, userInfo }: OidcUser): SignInReport['notes'] {
  const elsewhere = claims._claim_names
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null &&
    [claim, claim.split('.')[0]].some((name) => Object.hasOwn(elsewhere, name))
  return [...(isElsewhere ? ['overage' as const] : []), ...(userInfo === 'failed' ? ['userinfo' as const] : [])]
}

const maxNames = 40

/** Reports the received and missing claims, for the account's owners. */
export function reportOf(who: OidcUser, said: SaidAddress, provider: SsoProvider): SignInReport {
  const { emailClaim, roleClaim } = provider
  const names = (found: string[]) => found.slice(0, maxNames).map((name) => plainName(name, 60))
  const wanted = [
    emailClaim || 'email',
    ...(said.isVerified ? [] : ['email_verified']),
    ...(roleClaim ? [roleClaim] : []),
  ]
  return {
    email: said.email ?? null,
    isVerified: said.isVerified,
    roles: roleClaim === '' ? [] : names(textsIn(claimAt(who.claims, roleClaim))),
    claims: names(Object.keys(who.claims)),
    missing: wanted.filter((name) => claimAt(who.claims, name) === undefined),
    notes: roleClaim !== '' && claimAt(who.claims, roleClaim) === undefined ? notesOf(roleClaim, who) : [],
  }
}
