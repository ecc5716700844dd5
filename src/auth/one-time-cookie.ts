/**
 * Cookies that carry a secret from the form that made it to the page that shows it, once. Sealed for the session, so
 * neither another session nor the reader of a cookie file can use one. See docs/security.md, "Storage of keys".
 */
import { createHmac } from 'node:crypto'
import { createKeyRing, type KeyRing } from '../lib/key-ring.ts'

/** Seal a text for a session. `token` is the token of the session; `id` is bound to the sealed text. */
export async function sealForSession(token: string, id: string, text: string): Promise<string> {
  const { encryptedToken, tokenIv, tokenAuthTag } = await ringOf(token).seal(text, id)
  return [encryptedToken, tokenIv, tokenAuthTag].join('.')
}

/** The text that was sealed for this session and id; undefined if it was not. */
export async function openForSession(token: string, id: string, sealed: string): Promise<string | undefined> {
  const [encryptedToken, tokenIv, tokenAuthTag] = sealed.split('.')
  try {
    return await ringOf(token).open({ encryptedToken, tokenIv, tokenAuthTag, tokenKeyId }, id)
  } catch {
    return undefined
  }
}

const tokenKeyId = 'session'

function ringOf(token: string): KeyRing {
  const key = createHmac('sha256', token).update('one-time cookie').digest('base64')
  return createKeyRing(`${tokenKeyId}:${key}`)
}
