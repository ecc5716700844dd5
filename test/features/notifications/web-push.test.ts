/** The grid's keys for push services. */
import { expect, test } from 'vitest'
import { publicPushKey, sendPush } from '../../../src/features/notifications/send-push.ts'
import { allNotifications } from '../../../src/features/notifications/store.ts'
import { newPushKey } from '../../../src/features/notifications/web-push.ts'
import { day, second } from '../../../src/lib/time.ts'
import { testGrid } from '../../support/grid.ts'
import { startPushService } from '../../support/push-service.ts'

/** A key pair created by the package web-push 3.6.7. */
const stored = {
  publicKey: 'BN7GQNbo0BI_ZRspd259VpYuovRMKdmV5p30O-6cGgs3dTimar_FzB7tJa_u3CeaKlTIWZ0Kst1QLv88a47jZLY',
  privateKey: 'RdUeUK5hQtlN3m2qpp1Bs-QsXzbTtuoy-eYXouvvqqE',
}

test('a stored key pair is still used, so that existing subscriptions continue to work', async () => {
  const { store, clock } = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  const service = await startPushService()
  const sealed = await store.seal('push_keys', 'vapid', stored.privateKey)
  await store.write([store.feature(allNotifications).addPushKey('vapid', stored.publicKey, sealed, null, clock.now)])
  const shown = { title: 'Grüße', body: 'A new message', tag: 'a', path: '/' }

  const result = await sendPush(store, service.subscription(), shown)
  await service.close()

  expect(result).toEqual({ outcome: 'sent' })
  expect(await publicPushKey(store)).toBe(stored.publicKey)
  // The fake push service has verified the signature.
  expect(service.taken).toMatchObject([{ publicKey: stored.publicKey, shown, claims: { aud: service.url } }])
  const lifetime = service.taken[0].claims.exp * second - clock.now
  expect(lifetime > 0 && lifetime <= day).toBe(true)
})

test('every private key has 32 bytes, even if it begins with zeros', () => {
  const lengths = Array.from({ length: 1_000 }, () => Buffer.from(newPushKey().privateKey, 'base64url').length)

  expect(new Set(lengths)).toEqual(new Set([32]))
})
