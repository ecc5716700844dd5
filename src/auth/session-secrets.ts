/** Values derived from the session cookie, which other sites can neither read nor set. */
import { createHmac } from 'node:crypto'
import { createKeyRing, type KeyRing } from '../lib/key-ring.ts'

/** Returns the CSRF token of a session or visit. */
export function formToken(cookie: string): string {
  return createHmac('sha256', cookie).update('form').digest('base64url')
}

export const ringKeyId = 'session'

/** Seals one-time cookies with a key derived from the session token. */
export function ringOf(token = ''): KeyRing {
  const key = createHmac('sha256', token).update('one-time cookie').digest('base64')
  return createKeyRing(`${ringKeyId}:${key}`)
}
