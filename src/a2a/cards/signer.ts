/** What this process knows of the keys that sign cards. */
import { readSigningKeys } from '../../grid/cards.ts'
import { createSigner, type JWK, type Sign } from '../../lib/signing.ts'
import { minute } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'

/** How long keys are not read again. The command that replaces one may run in another process. */
const knownMs = minute

interface Keys {
  /** The `kid` of the key that signs; undefined if cards are not signed. */
  kid?: string
  sign?: Sign
  /** @see RFC 7517 §5 */
  set: { keys: JWK[] }
}

/** The address of the key set, on the public host. */
export const keySetPath = '/.well-known/jwks.json'

export class Signer {
  readonly #store: Store
  #known: { keys: Promise<Keys>; until: number } | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** The keys, as they were a minute ago at most. Fails with `unavailable` if they cannot be read. */
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
    const jku = `${this.#store.deps.config.baseUrl}${keySetPath}`
    return { kid: current.id, sign: await createSigner(current.privateKey, { kid: current.id, jku }), set }
  }
}
