/**
 * Passkeys: creates the options for the browser, and verifies its response. See docs/people.md, "Signing in".
 * @see WebAuthn Level 3
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON, WebAuthnCredential } from '@simplewebauthn/server'
import * as z from 'zod'
import { GridError } from '../errors.ts'
import { parseBody } from '../lib/http/body.ts'
import { parse } from '../lib/input.ts'
import { once } from '../lib/lazy.ts'
import { minute } from '../lib/time.ts'

/** The site that passkeys are bound to. */
export interface PasskeySite {
  /** The host name. */
  id: string
  origin: string
}

export interface KnownPasskey {
  credentialId: string
  /** The public key as a COSE key in base64url. */
  publicKey: string
  counter: number
  transports: string[]
}

/** Resolves to whether this challenge was issued. Each challenge can be answered once. */
export type IsExpected = (challenge: string) => Promise<boolean>

export const passkeyTimeoutMs = 5 * minute

// Loaded on first use, because it includes certificate parsers that most processes never need.
const webauthn = once(() => import('@simplewebauthn/server'))

/**
 * Returns the web application's passkey site. Undefined if browsers offer no passkeys there, because passkeys require
 * HTTPS or `localhost`, and a host name instead of an IP address.
 */
export function passkeySite(appUrl: string): PasskeySite | undefined {
  const { protocol, hostname, origin } = new URL(appUrl)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  // A host of only digits and dots is an address, because `URL` normalises every IPv4 address to four decimal numbers.
  const isName = !hostname.startsWith('[') && !/^[\d.]+$/.test(hostname)
  return isName && (protocol === 'https:' || isLocal) ? { id: hostname, origin } : undefined
}

/**
 * Creates the options for registering a passkey with `navigator.credentials.create`. The user must unlock the passkey
 * on each use.
 */
export async function registrationOptions(
  site: PasskeySite,
  user: { id: string; email: string; name: string },
  known: KnownPasskey[],
) {
  const { generateRegistrationOptions } = await webauthn()
  return await generateRegistrationOptions({
    rpID: site.id,
    rpName: site.id,
    userID: new TextEncoder().encode(user.id),
    userName: user.email,
    userDisplayName: user.name || user.email,
    timeout: passkeyTimeoutMs,
    attestationType: 'none',
    excludeCredentials: known.map(asDescriptor),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/**
 * Creates the options for using a passkey with `navigator.credentials.get`. Without `known`, the user can choose any
 * passkey.
 */
export async function authenticationOptions(site: PasskeySite, known: KnownPasskey[]) {
  const { generateAuthenticationOptions } = await webauthn()
  return await generateAuthenticationOptions({
    rpID: site.id,
    allowCredentials: known.map(asDescriptor),
    timeout: passkeyTimeoutMs,
    userVerification: 'required',
  })
}

/** Verifies a browser's response and returns the new passkey. Fails with `invalid_input`. */
export async function verifyRegistration(
  site: PasskeySite,
  answer: string,
  isExpected: IsExpected,
): Promise<KnownPasskey> {
  const response = readAnswer(registrationAnswer, answer) as RegistrationResponseJSON
  const { verifyRegistrationResponse } = await webauthn()
  const { verified, registrationInfo } = await accepted(() =>
    verifyRegistrationResponse({ response, ...requirementsOf(site, isExpected) })
  )
  if (!verified) throw notAccepted()
  const { id, publicKey, counter } = registrationInfo.credential
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    counter,
    transports: response.response.transports ?? [],
  }
}

/** Returns the passkey id in a response that has not been verified yet. Fails with `invalid_input`. */
export function namedPasskey(answer: string): string {
  return readAnswer(authenticationAnswer, answer).id
}

/** Verifies that a passkey signed the challenge. Returns its new signature counter. Fails with `invalid_input`. */
export async function verifyAuthentication(
  site: PasskeySite,
  answer: string,
  passkey: KnownPasskey,
  isExpected: IsExpected,
): Promise<number> {
  const response = readAnswer(authenticationAnswer, answer) as AuthenticationResponseJSON
  const { verifyAuthenticationResponse } = await webauthn()
  const { verified, authenticationInfo } = await accepted(() =>
    verifyAuthenticationResponse({
      response,
      ...requirementsOf(site, isExpected),
      credential: {
        ...asDescriptor(passkey),
        publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
        counter: passkey.counter,
      },
    })
  )
  if (!verified) throw notAccepted()
  return authenticationInfo.newCounter
}

function requirementsOf(site: PasskeySite, isExpected: IsExpected) {
  return {
    expectedChallenge: isExpected,
    expectedOrigin: site.origin,
    expectedRPID: site.id,
    requireUserVerification: true,
  }
}

export function notAccepted(): GridError {
  return new GridError('invalid_input', 'The passkey was not accepted. Try again.', { field: 'passkey' })
}

function asDescriptor({ credentialId, transports }: KnownPasskey) {
  return { id: credentialId, transports: transports as WebAuthnCredential['transports'] }
}

const base64url = z.string().max(8_192).regex(/^[\w-]*$/)
const answerFields = {
  id: base64url.min(1),
  rawId: base64url.min(1),
  type: z.literal('public-key'),
  authenticatorAttachment: z.string().max(40).nullish(),
}
const registrationAnswer = z.object({
  ...answerFields,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z.array(z.string().max(40)).max(10).optional(),
  }),
}).transform((answer) => ({ ...answer, clientExtensionResults: {} }))
const authenticationAnswer = z.object({
  ...answerFields,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
}).transform((answer) => ({ ...answer, clientExtensionResults: {} }))

function readAnswer<T>(schema: z.ZodType<T>, text: string): T {
  if (text === '') {
    const message = 'Passkeys need JavaScript and a browser that supports them.'
    throw new GridError('invalid_input', message, { field: 'passkey' })
  }
  try {
    return parse(schema, parseBody(text, { maxBytes: 32_768, maxDepth: 6, maxTokens: 200 }))
  } catch {
    throw notAccepted()
  }
}

/** Converts the library's errors to grid errors. */
async function accepted<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof GridError) throw error
    throw notAccepted()
  }
}
