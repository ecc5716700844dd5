/** Guardrails of the account of the recipient: it decides, and the sender learns only the kind of thing. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, signingSecret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let desk: TestAgent
let providers: ReturnType<typeof testProviders>
beforeEach(async () => {
  providers = testProviders()
  grid = await testGrid({ ...providers, env: { STRANGER_MESSAGES_PER_DAY: '3' } })
  desk = await grid.evil.agent('desk', { visibility: 'public' })
})
afterEach(() => grid.close())

test('a blocked message of another account is a case of the recipient alone, and says only the kind', async () => {
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

test('a sender cannot fetch the parts of a message that another account masked', async () => {
  await guard(grid.evil, 'desk', { direction: 'inbound', action: 'redact' })
  const file = btoa(`${'x'.repeat(20_000)} ${secret}`)
  const a2a = { messageId: 'm', parts: [{ text: 'hi' }, { raw: file, mediaType: 'text/plain' }] }

  const own = await sendMessage(as(grid.alice), { to: '@bob', text: 'hi', a2a })
  const theirs = await sendMessage(as(grid.alice), { to: '@desk', text: 'hi', a2a })

  expect((await callTool(grid, grid.alice.key, 'read_part', { part_id: `${own.id}.1` })).code).toBeUndefined()
  expect((await callTool(grid, grid.alice.key, 'read_part', { part_id: `${theirs.id}.1` })).code).toBe('part_not_found')
  expect(JSON.stringify(
    await rows(grid, 'SELECT * FROM parts WHERE account_id = ? AND message_id = ?', [
      grid.acme.id,
      theirs.id,
    ]),
  )).not.toContain(file)
})

test('its guardrails are asked with the token of its account, after those of the sender', async () => {
  const asked: unknown[] = []
  providers.remote.check = ({ text, direction, sender, recipient }, { token }) => {
    asked.push({ text, direction, sender, recipient, token })
    return { kinds: [] }
  }
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await guard(grid.evil, 'desk', { direction: 'inbound', provider: 'webhook' })

  await sendText(`the word is ${secret}`)

  expect(asked).toEqual([{
    ...{ text: 'the word is [redacted]', direction: 'inbound', sender: '@alice', recipient: '@desk' },
    token: signingSecret,
  }])
})

test('the status of a message tells what kinds were masked, and nothing of a flag', async () => {
  await guard(grid.evil, 'desk', { name: 'hidden', direction: 'inbound', action: 'redact' })
  await guard(grid.evil, 'desk', { name: 'silent', direction: 'inbound', action: 'flag' })

  const sent = await sendText(secret)
  const { text: status } = await callTool(grid, grid.alice.key, 'message_status', { message_id: sent.text.message_id })

  expect(sent.text.redacted).toEqual([kind])
  expect(status.guardrails).toEqual([{ action: 'redacted', kinds: [kind] }])
  const account = grid.store.account(grid.evil.id, {
    ...{ type: 'agent', agentId: desk.id, alias: 'desk', credentialId: 'test' },
  })
  expect((await readMessages(account, {})).messages).toMatchObject([{ message: '[redacted]', flagged: true }])
})

test('its failure says only that there is a guardrail', async () => {
  providers.remote.check = () => Promise.reject(new Error('down'))
  await guard(grid.evil, 'desk', { name: 'hidden', direction: 'inbound', provider: 'webhook', onFailure: 'closed' })

  expect((await sendText('hi')).message).toBe(
    'A guardrail of @desk could not check this message, so it was not sent. Send it again later.',
  )
})

test('over A2A the error has the kinds for programs, and the name of an own guardrail alone', async () => {
  await guard(grid.evil, 'desk', { name: 'hidden', direction: 'inbound' })
  await guard(grid.acme, 'bob', { name: 'ours', direction: 'inbound' })
  const errorOf = async (to: string) => {
    const request = send10({ parts: [{ text: secret }], metadata: { to } })
    return (await postA2a(grid, grid.alice.key, request)).body.error
  }

  const [foreign, own] = [await errorOf('@desk'), await errorOf('@bob')]

  expect([foreign.code, own.code]).toEqual([-32052, -32052])
  expect(foreign.data[0]).toMatchObject({ reason: 'GUARDRAIL_BLOCKED', metadata: { kinds: kind } })
  expect(foreign.data[0].metadata).toEqual({ kinds: kind })
  expect(own.data[0].metadata).toEqual({ kinds: kind, guardrail: 'ours' })
})

test('a blocked message counts for the quota of what a stranger may send', async () => {
  await guard(grid.evil, 'desk', { direction: 'inbound' })

  const codes = []
  for (let n = 0; n < 4; n++) codes.push((await sendText(`${secret} ${n}`)).code)

  expect(codes).toEqual([...Array(3).fill('guardrail_blocked'), 'quota_exceeded'])
})

function as({ id, alias }: TestAgent): AccountStore {
  return grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}

function sendText(message: string, more: object = {}) {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@desk', message, ...more })
}
