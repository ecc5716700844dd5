/** Guardrails of the recipient's account. The sender is told only the kind of content that was found. */
import { beforeEach, expect, test } from 'vitest'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>
beforeEach(async () => {
  providers = testProviders()
  grid = await testGrid({ ...providers, env: { EXTERNAL_MESSAGES_PER_DAY: '3' } })
  await grid.evil.agent('desk', { visibility: 'public' })
})

test('a message that another account blocks is a case only in that account, and its sender sees only the kind', async () => {
  await guard(grid.evil, 'desk', { name: 'hidden name', direction: 'inbound' })

  const blocked = await sendText(secret, { to: '@desk', idempotency_key: 'k' })

  expect(blocked.message).toBe(`A guardrail of @desk blocked this message: ${kind}. It was not sent.`)
  const cases = (account: { id: string }) =>
    rows(grid, 'SELECT guardrail_name, sender_alias, message_id FROM verdicts WHERE account_id = ?', [account.id])
  expect(await cases(grid.evil)).toEqual([
    { guardrail_name: 'hidden name', sender_alias: 'alice', message_id: null },
  ])
  expect(await cases(grid.acme)).toEqual([])
})

test('a sender cannot fetch the parts of a message that another account redacted', async () => {
  await guard(grid.evil, 'desk', { direction: 'inbound', action: 'redact' })
  const file = btoa(`${'x'.repeat(20_000)} ${secret}`)
  const a2a = { messageId: 'm', parts: [{ text: 'hi' }, { raw: file, mediaType: 'text/plain' }] }

  const own = await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'hi', a2a })
  const theirs = await sendMessage(storeOf(grid, grid.alice), { to: '@desk', text: 'hi', a2a })

  expect((await callTool(grid, grid.alice.key, 'read_part', { part_id: `${own.id}.1` })).code).toBeUndefined()
  expect((await callTool(grid, grid.alice.key, 'read_part', { part_id: `${theirs.id}.1` })).code).toBe('part_not_found')
  expect(JSON.stringify(
    await rows(grid, 'SELECT * FROM parts WHERE account_id = ? AND message_id = ?', [
      grid.acme.id,
      theirs.id,
    ]),
  )).not.toContain(file)
})

test('a message blocked by another account counts towards the quota for other accounts', async () => {
  await guard(grid.evil, 'desk', { direction: 'inbound' })

  const codes = []
  for (let n = 0; n < 4; n++) codes.push((await sendText(`${secret} ${n}`)).code)

  expect(codes).toEqual([...Array(3).fill('guardrail_blocked'), 'quota_exceeded'])
})

function sendText(message: string, more: object = {}) {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@desk', message, ...more })
}
