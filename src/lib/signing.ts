/**
 * Signatures that others can verify with the grid's public keys: ES256, as JSON Web Signatures.
 * @see RFC 7515 §7.2.2, RFC 7518 §3.4
 */
import { Buffer } from 'node:buffer'
import type { JWK } from 'jose'
import { once } from './lazy.ts'

export type { JWK }

const algorithm = 'ES256'

/** A key pair, each key as a JWK. The public key has the members that a key set lists. @see RFC 7517 §4 */
export interface SigningKeyPair {
  publicKey: JWK
  privateKey: JWK
}

/** A text's detached signature. Both members are base64url. */
export interface DetachedSignature {
  protected: string
  signature: string
}

/** Signs a text. `type` is its kind, which goes into the header `typ`. */
export type Sign = (text: string, type?: string) => Promise<DetachedSignature>

export async function newSigningKeyPair(kid: string): Promise<SigningKeyPair> {
  const { generateKeyPair, exportJWK } = await library()
  const pair = await generateKeyPair(algorithm, { extractable: true })
  return {
    publicKey: { ...await exportJWK(pair.publicKey), kid, use: 'sig', alg: algorithm },
    privateKey: await exportJWK(pair.privateKey),
  }
}

/** Prepares a key for signing. `jku` is the URL of its key set. @see RFC 7515 §4.1 */
export async function createSigner(privateKey: JWK, { kid, jku }: { kid: string; jku?: string }): Promise<Sign> {
  const { FlattenedSign, importJWK } = await library()
  const key = await importJWK(privateKey, algorithm)
  return async function sign(text, type = 'JOSE') {
    // Some verifiers of agent cards require `typ`.
    const signed = await new FlattenedSign(new TextEncoder().encode(text))
      .setProtectedHeader({ alg: algorithm, typ: type, kid, jku }).sign(key)
    return { protected: signed.protected!, signature: signed.signature }
  }
}

/** Whether the owner of the key signed the text as `type`. */
export async function isSignedBy(
  publicKey: JWK,
  text: string,
  type: string,
  signature: DetachedSignature,
): Promise<boolean> {
  const { flattenedVerify, importJWK } = await library()
  const payload = new TextEncoder().encode(text)
  try {
    const key = await importJWK(publicKey, algorithm)
    // The payload of a JSON Web Signature is base64url.
    const signed = { ...signature, payload: Buffer.from(payload).toString('base64url') }
    return (await flattenedVerify(signed, key, { algorithms: [algorithm] })).protectedHeader?.typ === type
  } catch {
    return false
  }
}

/** Returns a public key's SHA-256 in base64url, after `SHA256:` so that it never looks like an option. @see RFC 7638 */
export async function fingerprintOf(publicKey: JWK): Promise<string> {
  return `SHA256:${await (await library()).calculateJwkThumbprint(publicKey)}`
}

/** Loaded on first use, because not every process signs. */
const library = once(() => import('jose'))

/** Returns the key information in a signature. Fails if the signature is malformed. */
export async function signedBy(signature: DetachedSignature): Promise<{ kid?: string; jku?: string }> {
  const { decodeProtectedHeader } = await library()
  return decodeProtectedHeader(signature)
}

/** Whether this key's signature (ES256) matches one of the payloads. Fails if the key is invalid. */
export async function fitsKey(signature: DetachedSignature, payloads: readonly string[], key: JWK): Promise<boolean> {
  const { flattenedVerify, importJWK } = await library()
  const imported = await importJWK(key, algorithm)
  const fits = await Promise.all(payloads.map(async (payload) => {
    const signed = { ...signature, payload: Buffer.from(payload).toString('base64url') }
    return await flattenedVerify(signed, imported).then(() => true, () => false)
  }))
  return fits.includes(true)
}
