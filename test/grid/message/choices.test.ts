/** Answers that an agent may offer to a person. docs/conversations.md, "Choices". */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { cleanChoices } from '../../../src/grid/message/choices.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { post } from '../../support/inbox.ts'
import { callTool } from '../../support/mcp.ts'
import { personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks })
  await personWithAlias(grid, 'ann')
})

const stored = async () => {
  const found = await rows(grid, 'SELECT a2a, sanitized FROM messages WHERE account_id = ? ORDER BY seq', [
    grid.acme.id,
  ])
  return found.map(({ a2a, sanitized }) => ({ ...JSON.parse(String(a2a)), sanitized }))
}
const offer = (to: string, choices: string[], more: object = {}) =>
  post(grid, grid.alice.key, { to, message: 'May I?', choices, ...more })

test('only a message to a person of the account can have choices, and others get a clear error', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'ann'] })
  await rows(grid, `UPDATE agents SET visibility = 'public', type = 'human' WHERE account_id = ? AND alias = 'eve'`, [
    grid.evil.id,
  ])

  for (const to of ['@bob', '#team', '@eve']) {
    const { status, body } = await offer(to, ['Yes'])
    expect([status, body.error.code]).toEqual([400, 'invalid_input'])
    expect(body.error.message).toContain(`Write to ${to} without them.`)
  }
  const overMcp = await callTool(grid, grid.alice.key, 'send_message', {
    ...{ to: '@bob', message: 'May I?', choices: ['Yes'] },
  })
  expect(overMcp.code).toBe('invalid_input')
  expect(await stored()).toEqual([])
  expect((await offer('@bob', [])).status).toBe(201)
})

test.each([
  ['more than six', [...'abcdefg'], 'at most 6'],
  ['too long', ['🙂'.repeat(61)], 'at most 60 characters'],
  ['empty without what is invisible', ['Yes', ' \u200b'], 'empty'],
  ['the same without what is invisible', ['Yes', 'Y\u2060es'], 'the same'],
])('choices that are %s are refused', (_, choices, why) => {
  expect(() => cleanChoices(choices)).toThrow(why)
})

test('choices are stored in the message itself, one per line, however long they are', async () => {
  const long = [...'123456'].map((n) => n + '🙂'.repeat(59))
  await offer('@ann', long, { parts: [{ text: 'x'.repeat(9_000) }] })
  await offer('@ann', ['no\u202e\n way', 'Yes'])

  expect(await stored()).toMatchObject([{ choices: long, sanitized: 0 }, { choices: ['no way', 'Yes'], sanitized: 1 }])
})

test('different choices under the same idempotency key are a conflict, and guardrails check choices', async () => {
  const send = (choices: string[], key: string) =>
    post(grid, grid.alice.key, { to: '@ann', message: 'May I?', choices }, key)
  await send(['Yes', 'No'], 'k')
  expect((await send(['Yes', 'No'], 'k')).status).toBe(201)
  expect((await send(['Yes', 'Never'], 'k')).body.error.code).toBe('idempotency_conflict')

  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await send([`say ${secret}`, 'No'], 'other')
  expect((await stored()).map(({ choices }) => choices)).toEqual([['Yes', 'No'], ['say [redacted]', 'No']])
})
