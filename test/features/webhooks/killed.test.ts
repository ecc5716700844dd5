/** A server is killed (SIGKILL) while it sends to webhooks. The long form has 1,000 messages and five kills. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recount } from '../../../scripts/recount/recount.ts'
import { GridClient } from '../../../src/clients/grid-client.ts'
import { createWebhook } from '../../../src/features/webhooks/webhooks.ts'
import { testGrid } from '../../support/grid.ts'
import { isLong } from '../../support/long.ts'
import { startServe } from '../../support/process.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWebhook } from '../../support/webhook.ts'

const messages = isLong ? 1_000 : 90
const kills = isLong ? 5 : 2
const env = {
  ALLOW_PRIVATE_TARGETS: '1',
  OAUTH_CIMD: 'off',
  CALLS_PER_SECOND: '0',
  LOG_LEVEL: 'error',
}

test(
  'each message is sent in order, with the same id after a kill, and a hanging receiver delays no other',
  async () => {
    const prepared = await testGrid({ env })
    const [taking, hanging] = [await startWebhook(), await startWebhook(() => 'hang')]
    const actor = { type: 'admin', credentialId: 'test', credentialKind: 'admin_key', userId: null } as const
    const account = prepared.store.account(prepared.acme.id, actor)
    for (const { url } of [hanging, taking]) await createWebhook(account, { url, events: ['message'] })
    await prepared.store.close()
    const start = () => startServe('node', { ...env, DATABASE_URL: `file:${join(prepared.folder, 'grid.db')}` })

    let server = await start()
    const sent: string[] = []
    for (let n = 0; n < messages; n++) {
      const send = () =>
        new GridClient({ url: server.url, key: prepared.alice.key }).send({ to: 'bob', message: `${n}` }, `key ${n}`)
      if (n % Math.floor(messages / (kills + 1)) === 9) {
        const lost = send().catch(() => undefined)
        server.signal('SIGKILL')
        await Promise.all([server.ended, lost])
        server = await start()
      }
      sent.push((await send()).message_id)
    }
    const told = () => [...new Set(taking.taken.map(({ body }) => body.data.message_id))]
    await waitFor('all messages to be told', () => told().length >= messages)
    await server.stop()

    expect(await recount({ url: `file:${join(prepared.folder, 'grid.db')}` })).toEqual([])
    expect(told()).toEqual(sent)
    const idOf = new Map(taking.taken.map(({ body, headers }) => [body.data.message_id, headers['webhook-id']]))
    expect(taking.taken.filter(({ body, headers }) => idOf.get(body.data.message_id) !== headers['webhook-id']))
      .toEqual([])
    expect(new Set(idOf.values()).size).toBe(messages)
    expect([...new Set(hanging.taken.map(({ body }) => body.data.message_id))]).toEqual(sent.slice(0, 1))
    await Promise.all([taking.close(), hanging.close()])
  },
  isLong ? 300_000 : undefined,
)
