/** The key pair with which the grid signs what it sends to push services. See docs/security.md, "Notifications". */
import { pushKeyContext } from '../../lib/key-ring.ts'
import { newPushKey, type PushKey } from '../../lib/outbound/web-push.ts'
import type { Store } from '../../store/store.ts'

const id = 'vapid'

/**
 * The public key with which browsers subscribe, in base64url. The pair is made when it is first asked for, and again if
 * the key that encrypts it was lost; of several processes that make one at once, one wins. Fails with `invalid_input` if
 * the grid has no encryption keys.
 */
export async function publicPushKey(store: Store): Promise<string> {
  const known = await store.global.notifications.pushKey(id)
  if (known && store.keyRing.ids.includes(known.tokenKeyId)) return known.publicKey
  const { publicKey, privateKey } = await newPushKey()
  const sealed = await store.keyRing.seal(privateKey, pushKeyContext(id))
  await store.write([
    store.global.notifications.addPushKey(id, publicKey, sealed, known?.tokenKeyId ?? null, store.deps.now()),
  ])
  return (await store.global.notifications.pushKey(id))!.publicKey
}

/** The key pair; undefined before a browser has subscribed. Fails with `internal` if its encryption key is gone. */
export async function readPushKey({ global, keyRing }: Store): Promise<PushKey | undefined> {
  const stored = await global.notifications.pushKey(id)
  if (!stored) return undefined
  return { publicKey: stored.publicKey, privateKey: await keyRing.open(stored, pushKeyContext(id)) }
}
