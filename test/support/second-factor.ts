/** Users with a second factor. */
import { TOTP } from 'otpauth'
import { newId } from '../../src/lib/id.ts'
import { second } from '../../src/lib/time.ts'
import type { Browser, Page } from './browse.ts'
import type { TestGrid } from './grid.ts'
import { signedIn } from './people.ts'

/** Returns the path of the page where an Acme user sets up a second factor. */
export function securityOf(grid: TestGrid): string {
  return `/accounts/${grid.acme.id}/settings/security`
}

/** Returns an authenticator app's current code, or the code `offsetMs` later. */
export function codeOf(grid: TestGrid, secret: string, offsetMs = 0): string {
  return new TOTP({ secret }).generate({ timestamp: grid.clock.now + offsetMs })
}

/**
 * Sets up an authenticator app for a member of Acme. Returns the member's browser as `one`, and the page shown
 * afterwards as `page`. Advances the clock to the next code, unless `keepsStep` is set.
 */
export async function addTotp(
  grid: TestGrid,
  user: { id: string },
  { keepsStep = false } = {},
): Promise<{ secret: string; codes: string[]; one: Browser; page: Page }> {
  const one = await signedIn(grid, user)
  const security = securityOf(grid)
  const { html } = await one.submit(security, {}, `${security}/totp`)
  const secret = html.match(/<code id="secret-text">([^<]+)</)![1].replaceAll(' ', '')
  const fields = { code: codeOf(grid, secret) }
  const page = await one.submit(`${security}/totp`, fields, `${security}/totp/finish`)
  const codes = page.html.match(/<code id="secret-text">([^<]+)</)?.[1].split('\n') ?? []
  if (!keepsStep) grid.clock.now += 30 * second
  return { secret, codes, one, page }
}

/** Gives a user a passkey that exists only in the database and cannot be used. */
export async function addPasskey({ store, clock }: TestGrid, user: { id: string }, name: string): Promise<void> {
  const id = newId()
  const passkey = { id, userId: user.id, credentialId: id, publicKey: 'AAAA', counter: 0, transports: [], name }
  await store.write([store.global.secondFactors.addPasskey(passkey, clock.now)])
}
