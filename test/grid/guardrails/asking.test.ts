/** How often guardrails are asked about a text. See docs/delivery.md, "Order of checks". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import type { Statement } from '../../../src/store/sql.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>
beforeEach(async () => {
  providers = testProviders()
  grid = await testGrid(providers)
})
afterEach(() => grid.close())

test('local guardrails with the same configuration are asked once, also those of two accounts', async () => {
  await grid.evil.agent('desk', { visibility: 'public' })
  await guard(grid.acme, 'alice', { name: 'one', direction: 'outbound' })
  await guard(grid.acme, 'alice', { name: 'two', direction: 'outbound' })
  await guard(grid.acme, 'alice', { name: 'other', direction: 'outbound', config: { phrases: ['other'] } })
  await guard(grid.evil, 'desk', { direction: 'inbound' })

  await send('@desk', 'hello')
  await send('@desk', 'again')

  expect(asked()).toEqual(['outbound hello', 'outbound hello', 'outbound again', 'outbound again'])
})

test('a local guardrail is asked again about what another one left of a text', async () => {
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await guard(grid.acme, 'bob', { direction: 'inbound' })

  const sent = await send('bob', `the word is ${secret}`)

  expect(asked()).toEqual([`outbound the word is ${secret}`, 'inbound the word is [redacted]'])
  expect(sent.code).toBeUndefined()
})

test('a guardrail is asked once, however often the commit is tried, and about the text that is delivered', async () => {
  await guard(grid.acme, 'alice', { direction: 'outbound' })
  const account = grid.store.account(grid.acme.id, {
    type: 'agent',
    agentId: grid.alice.id,
    alias: 'alice',
    credentialId: 'test',
  })
  let failures = 2
  const failing = {
    ...account,
    write: (statements: Statement[]) =>
      failures-- > 0 ? Promise.resolve(statements.map(() => [])) : account.write(statements),
  }

  await sendMessage(failing, { agentId: grid.alice.id, alias: 'alice' }, { to: 'bob', text: 'he\u200bllo' })

  expect(asked()).toEqual(['outbound hello'])
  expect(failures).toBe(-1)
})

test('a service is asked in each direction, and local guardrails do not wait for it', async () => {
  const directions: string[] = []
  let answer = () => {}
  const answered = new Promise<void>((resolve) => (answer = resolve))
  providers.remote.check = async ({ direction }) => {
    directions.push(direction)
    // It answers when the local guardrail was asked.
    if (providers.asked.length === 0) await answered
    return { kinds: [] }
  }
  providers.asked.push = (...texts) => (answer(), Array.prototype.push.apply(providers.asked, texts))
  await guard(grid.acme, 'alice', { direction: 'both', provider: 'webhook' })
  await guard(grid.acme, 'alice', { direction: 'outbound' })
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })

  expect((await send('bob', 'hello')).code).toBeUndefined()

  expect(directions).toEqual(['outbound', 'inbound'])
  expect(asked()).toEqual(['outbound hello'])
})

function send(to: string, message: string) {
  return callTool(grid, grid.alice.key, 'send_message', { to, message })
}

function asked(): string[] {
  return providers.asked.map(({ direction, text }) => `${direction} ${text}`)
}
