/** One-time codes from authenticator apps. See docs/people.md, "Signing in". @see RFC 6238 */
import { once } from '../lib/lazy.ts'
import { second } from '../lib/time.ts'

// The parameters that every authenticator app supports. Many apps ignore other values.
const algorithm = 'SHA1'
const digits = 6
const periodSeconds = 30
const secretBytes = 20
/** How many periods the device's clock may be fast or slow. */
const window = 1

// Loaded on first use, because most requests never need it.
const otpauth = once(() => import('otpauth'))

/** Creates a secret in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await otpauth()
  return new Secret({ size: secretBytes }).base32
}

/** Returns the `otpauth:` URI for authenticator apps. `issuer` names the grid in the app, `label` the user. */
export async function totpUri(secret: string, { issuer, label }: { issuer: string; label: string }): Promise<string> {
  const { TOTP } = await otpauth()
  return new TOTP({ issuer, label, secret, algorithm, digits, period: periodSeconds }).toString()
}

/**
 * Returns a code's time step. Undefined if the code is wrong or too old at `now`, in milliseconds since the epoch. The
 * caller refuses a step that was used before.
 */
export async function totpStep(secret: string, code: string, now: number): Promise<number | undefined> {
  const { TOTP, Secret } = await otpauth()
  const key = Secret.fromBase32(secret)
  const delta = new TOTP({ secret: key, algorithm, digits, period: periodSeconds })
    .validate({ token: code, timestamp: now, window })
  return delta === null ? undefined : Math.floor(now / (periodSeconds * second)) + delta
}
