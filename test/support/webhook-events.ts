/** The data of every type of webhook event, as receivers get it. */
import { notifyWebhooks } from '../../src/features/webhooks/conditions.ts'
import { createWebhook, webhookEvents } from '../../src/features/webhooks/webhooks.ts'
import { hour, minute } from '../../src/lib/time.ts'
import { storeOf, testGrid } from './grid.ts'
import { hold } from './held.ts'
import { callTool } from './mcp.ts'
import { TestOutboxes } from './outboxes.ts'
import { askFor } from './tasks.ts'
import { startWebhook } from './webhook.ts'

/** Creates a grid and returns at least one data object per event type. */
export async function webhookData(): Promise<Map<string, unknown[]>> {
  const grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  const outboxes = new TestOutboxes(grid.store)
  const receiver = await startWebhook()
  const account = grid.store.account(grid.acme.id, {
    ...{ type: 'admin', credentialId: 'test', credentialKind: 'admin_key', userId: null },
  })
  await createWebhook(account, { url: receiver.url, events: [...webhookEvents] })
  const send = async (to: string, more = {}) =>
    (await callTool(grid, grid.alice.key, 'send_message', { to, message: 'hello', ...more })).whole.message_id
  const deliver = async (ms = 0) => {
    grid.clock.now += ms
    for (let n = 0; n < 20; n++) {
      await outboxes.run()
      await outboxes.settled()
    }
  }

  await callTool(grid, grid.acme.adminKey, 'admin_create_channel', { name: 'build', members: ['alice', 'bob'] })
  await send('#build')
  // Members may read only messages from an hour later on, so the events about the next messages omit the text.
  await grid.store.write([{
    sql: 'UPDATE accounts SET people_read_since = ? WHERE id = ?',
    args: [hour + grid.clock.now, grid.acme.id],
  }])
  await send('@bob', { reply_to_message_id: await send('@bob') })
  await askFor(storeOf(grid, grid.alice), 'Test this')
  await hold(account)
  await send('@bob')
  await deliver(minute)
  grid.store.backups = { made: undefined, failed: { at: grid.clock.now, reason: 'full disk' } }
  grid.clock.now += 2 * hour
  await notifyWebhooks(grid.store)
  await deliver(minute)

  const data = new Map<string, unknown[]>()
  for (const { body } of receiver.taken) data.set(body.type, [...data.get(body.type) ?? [], body.data])
  await outboxes.stop()
  await receiver.close()
  await grid.close()
  const missing = webhookEvents.filter((type) => !data.has(type))
  if (missing.length > 0) throw new Error(`no event of type ${missing.join(', ')}`)
  return data
}
