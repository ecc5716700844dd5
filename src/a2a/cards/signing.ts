/** Signatures of agent cards and their keys. See docs/protocol/a2a.md, "Signed cards". @see A2A 1.0 §8.4, RFC 8785 */
import { canonicalJson } from '../../lib/encoding.ts'
import { createSigner, type DetachedSignature, type JWK, type Sign } from '../../lib/signing.ts'
import type { Card10 } from './card.ts'
import { readSigningKeys } from '../../grid/cards.ts'
import { minute } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'

/** How long keys are cached. Short, because the command that rotates them may run in another process. */
const knownMs = minute

interface Keys {
  /** The signing key's `kid`; undefined if cards are not signed. */
  kid?: string
  /** Creates signatures that name one of the grid's origins, where verifiers find the key. */
  signAt?(origin: string): Promise<Sign>
  /** @see RFC 7517 §5 */
  set: { keys: JWK[] }
}

export const keySetPath = '/.well-known/jwks.json'

export class Signer {
  readonly #store: Store
  #known: { keys: Promise<Keys>; until: number } | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Returns keys that are at most a minute old. Fails with `unavailable` if they cannot be read. */
  keys(): Promise<Keys> {
    const now = this.#store.deps.now()
    if (this.#known && now < this.#known.until && this.#known.until - now <= knownMs) return this.#known.keys
    const keys = this.#read()
    this.#known = { keys, until: now + knownMs }
    keys.catch(() => this.#known = undefined)
    return keys
  }

  async #read(): Promise<Keys> {
    const { current, published } = await readSigningKeys(this.#store)
    const set = { keys: published }
    if (!current) return { set }
    const { id: kid, privateKey } = current
    return { kid, signAt: (origin) => createSigner(privateKey, { kid, jku: `${origin}${keySetPath}` }), set }
  }
}

/**
 * Signs every text that a verifier may derive from a card, because one signature must match: the served members; the
 * 1.0 members without default values; those without empty values, as in the official libraries; the latter in ASCII, as
 * in the Python library; and the card without security schemes, which the JavaScript library loses on fetch.
 */
export async function signCard(
  served: Record<string, unknown>,
  card10: Card10,
  sign: Sign,
): Promise<DetachedSignature[]> {
  const withoutDefaults = omitDefaults(card10)
  const cleaned = canonicalJson(omitEmpty(withoutDefaults))
  const texts = new Set([
    canonicalJson(served),
    canonicalJson(withoutDefaults),
    cleaned,
    escapeNonAscii(cleaned),
    canonicalJson(omitEmpty(omitDefaults({ ...card10, securitySchemes: undefined }))),
  ])
  return await Promise.all([...texts].map((text) => sign(text)))
}

/** Omits empty lists, empty strings and `required: false`, as ProtoJSON does. */
function omitDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(omitDefaults)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name, member]) =>
    !(Array.isArray(member) && member.length === 0) && member !== '' && !(name === 'required' && member === false)
  )
  return Object.fromEntries(kept.map(([name, member]) => [name, omitDefaults(member)]))
}

/** Omits empty values recursively. Returns undefined if nothing is left. */
function omitEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(omitEmpty).filter((item) => item !== undefined)
    return items.length > 0 ? items : undefined
  }
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, omitEmpty(member)] as const)
    .filter(([, member]) => member !== undefined)
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

/** Escapes non-ASCII characters like Python's JSON encoder. Canonical JSON has no control characters. */
function escapeNonAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
