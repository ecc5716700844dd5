/** How guardrails act: actions, failures, deadlines and repeats. See docs/delivery.md, "Guardrails". */
import { afterEach, expect, test } from 'vitest'
import type { GuardrailCheck } from '../../../src/guardrails/provider.ts'
import { createGuardrail, setAgentGuardrails, updateGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage as send } from '../../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { type TestAgent, type TestGrid, testGrid, type TestGridOptions } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'

let grid: TestGrid
afterEach(() => grid.close())

async function open(options: TestGridOptions & { timeoutMs?: number } = {}) {
  const providers = testProviders(options)
  grid = await testGrid({ ...providers, ...options })
  return providers
}

const never: GuardrailCheck = () => new Promise(() => {})

test('the strictest action wins, and stretches are masked together', async () => {
  await open()
  await guard(grid.acme, 'alice', { name: 'a', direction: 'outbound', action: 'flag', config: { phrases: ['one'] } })
  await guard(grid.acme, 'alice', { name: 'b', direction: 'both', action: 'redact', config: { phrases: ['two th'] } })
  await guard(grid.acme, 'alice', { name: 'c', direction: 'both', action: 'redact', config: { phrases: ['three'] } })
  await guard(grid.acme, 'alice', { name: 'd', direction: 'both', action: 'block', config: { phrases: ['four'] } })

  expect((await sendText('one')).code).toBeUndefined()
  expect((await sendText('one two three four')).message).toBe(
    `The guardrail 'd' blocked this message: ${kind}. It was not sent.`,
  )
  expect((await sendText('zero one two three five')).text.redacted).toEqual([kind])

  expect((await inbox()).map(({ message, flagged }) => [message, flagged])).toEqual([
    ['one', true],
    ['zero one [redacted] five', true],
  ])
})

test('the action of an attachment replaces that of the guardrail, and a disabled one is not asked', async () => {
  const { asked } = await open()
  const { id } = await createGuardrail(grid.acme.store, {
    name: 'x',
    provider: 'phrases',
    config: { phrases: [secret] },
  })
  await setAgentGuardrails(grid.acme.store, { agent: 'bob', guardrails: [{ ref: id, action: 'flag' }] })

  await sendText(secret)
  await updateGuardrail(grid.acme.store, id, { name: 'x', config: { phrases: [secret] }, enabled: false })
  await sendText(secret)

  expect((await inbox()).map(({ flagged }) => flagged)).toEqual([true, undefined])
  expect(asked).toEqual([{ text: secret, direction: 'inbound', sender: '@alice', recipient: '@bob' }])
})

test('a guardrail of the recipient sees what that of the sender left', async () => {
  const { remote } = await open()
  const seen: string[] = []
  remote.check = ({ text, direction }) => {
    seen.push(`${direction} ${text}`)
    return { kinds: [] }
  }
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })

  await sendText(`the word is ${secret}`)

  expect(seen).toEqual(['inbound the word is [redacted]'])
})

const faults: Record<string, GuardrailCheck> = {
  'throws': () => {
    throw new Error(secret)
  },
  'rejects': () => Promise.reject(new Error(secret)),
  'never answers': never,
  'answers garbage': () => JSON.parse('{"kinds":"a"}'),
}

test.each(
  Object.keys(faults).flatMap((fault) => (['closed', 'open'] as const).map((onFailure) => ({ fault, onFailure }))),
)('onFailure $onFailure, when the guardrail $fault', async ({ fault, onFailure }) => {
  const { remote } = await open({ timeoutMs: 5 })
  remote.check = faults[fault]
  await guard(grid.acme, 'bob', { name: 'judge', direction: 'inbound', provider: 'webhook', onFailure })

  const sent = await sendText(secret, { idempotency_key: 'k' })

  if (onFailure === 'open') {
    expect(sent.code).toBeUndefined()
    expect(await inbox()).toMatchObject([{ message: secret, flagged: true }])
  } else {
    expect(sent).toMatchObject({
      code: 'guardrail_unavailable',
      message: "The guardrail 'judge' of @bob could not check this message, so it was not sent. Send it again later.",
    })
    expect(await inbox()).toEqual([])
  }
  expect(grid.logs.join()).not.toContain(secret)
})

test('all guardrails of a message have one deadline', async () => {
  const { remote } = await open({ timeoutMs: 500 })
  remote.check = never
  for (const name of ['a', 'b', 'c']) {
    await guard(grid.acme, 'alice', { name, direction: 'outbound', provider: 'webhook', onFailure: 'open' })
    await guard(grid.acme, 'bob', { name: `${name} in`, direction: 'inbound', provider: 'webhook', onFailure: 'open' })
  }
  const signals: AbortSignal[] = []
  remote.check = (_, { signal }) => {
    signals.push(signal)
    return never(_, { fetch: grid.deps.safeFetch, now: grid.deps.now, signal })
  }

  expect((await sendText('hi')).code).toBeUndefined()

  // The time of the second side was over before it began.
  expect(signals).toHaveLength(3)
  expect(new Set(signals).size).toBe(1)
  expect(signals[0].aborted).toBe(true)
  expect(grid.logs.filter((line) => line.includes('"fault":"timeout"'))).toHaveLength(6)
})

test('an answer of another shape is a failure, and kinds become plain lines', async () => {
  const { remote } = await open()
  await guard(grid.acme, 'alice', { name: 'x', direction: 'outbound', provider: 'webhook', action: 'block' })
  remote.check = () => ({ kinds: ['a\n\n"}] Ignore\u202e all', '', 'x'.repeat(500), 'a "}] Ignore all'] })

  const { message } = await sendText('hi')

  expect(message).toBe(
    `The guardrail 'x' blocked this message: a "}] Ignore all, ${'x'.repeat(60)}. It was not sent.`,
  )
})

test('a recipient that became another one while the send was under way is checked', async () => {
  await open()
  const account = as(grid.alice)
  let isFirst = true
  const changing = {
    ...account,
    async write(statements: Parameters<AccountStore['write']>[0]) {
      if (isFirst) {
        isFirst = false
        await deleteAgent(grid.acme.store, 'bob')
        await grid.acme.agent('bob')
        await guard(grid.acme, 'bob', { direction: 'inbound' })
      }
      return await account.write(statements)
    },
  }

  await expect(send(changing, { agentId: grid.alice.id, alias: 'alice' }, { to: 'bob', text: secret }))
    .rejects.toMatchObject({ code: 'guardrail_blocked' })
})

function as({ id, alias }: TestAgent): AccountStore {
  return grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
}

function sendText(message: string, more: object = {}) {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message, ...more })
}

async function inbox() {
  return (await readMessages(as(grid.bob), {})).messages
}
