/** PKCE (RFC 7636), method S256 only. */
import { sha256 } from 'oslo/crypto'
import { base64url } from 'oslo/encoding'

/** Whether a text has the form of an S256 challenge: 32 bytes in base64url. */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** The S256 challenge of a verifier; undefined if the verifier is malformed. @see RFC 7636 §4.1, §4.2 */
export async function codeChallengeOf(verifier: string): Promise<string | undefined> {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return undefined
  const digest = await sha256(new TextEncoder().encode(verifier))
  return base64url.encode(new Uint8Array(digest), { includePadding: false })
}
