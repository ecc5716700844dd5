/** Guardrail actions, failures, deadlines and repeats. See docs/protocol/guardrails.md. */
import { expect, test } from 'vitest'
import type { GuardrailCheck } from '../../../src/guardrails/provider.ts'
import { createGuardrail, setAgentGuardrails, updateGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { storeOf, type TestGrid, testGrid, type TestGridOptions } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import type { Statement } from '../../../src/store/sql.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>

async function open(options: TestGridOptions & { timeoutMs?: number } = {}) {
  providers = testProviders(options)
  grid = await testGrid({ ...providers, ...options })
  return providers
}

const never: GuardrailCheck = () => new Promise(() => {})

test('the strictest action wins, and overlapping spans are redacted together', async () => {
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

test("an attachment's action overrides the guardrail's, and a disabled guardrail is skipped", async () => {
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

test("the recipient's guardrail checks the text as changed by the sender's guardrail", async () => {
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
)('onFailure $onFailure applies when the guardrail $fault', async ({ fault, onFailure }) => {
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

test('all guardrails of a message share one deadline', async () => {
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

  // Only the sender's three guardrails ran, because the deadline passed before the recipient's could start.
  expect(signals).toHaveLength(3)
  expect(new Set(signals).size).toBe(1)
  expect(signals[0].aborted).toBe(true)
  expect(grid.logs.filter((line) => line.includes('"fault":"timeout"'))).toHaveLength(6)
})

test("a send repeated with its idempotency key gets a guardrail's block without a new check, but is checked again after a guardrail's failure", async () => {
  const { asked, remote } = await open()
  await guard(grid.acme, 'alice', { name: 'words', direction: 'outbound' })

  const first = await sendText(secret, { idempotency_key: 'k' })
  const again = await sendText(secret, { idempotency_key: 'k' })
  expect(first.code).toBe('guardrail_blocked')
  expect(again).toEqual(first)
  expect(asked).toHaveLength(1)
  expect((await sendText('other', { idempotency_key: 'k' })).code).toBe('idempotency_conflict')

  await setAgentGuardrails(grid.acme.store, { agent: 'alice', guardrails: [] })
  expect(await sendText(secret, { idempotency_key: 'k' })).toEqual(first)
  grid.clock.now += 8 * 24 * 3600_000
  expect((await sendText(secret, { idempotency_key: 'k' })).code).toBeUndefined()

  await guard(grid.acme, 'alice', { direction: 'outbound', provider: 'webhook', onFailure: 'closed' })
  remote.check = () => Promise.reject(new Error('down'))
  expect((await sendText('hi', { idempotency_key: 'other' })).code).toBe('guardrail_unavailable')
  remote.check = () => ({ kinds: [] })
  expect((await sendText('hi', { idempotency_key: 'other' })).code).toBeUndefined()
  expect((await inbox()).map(({ message }) => message)).toEqual([secret, 'hi'])
})

test.each<[string, () => Promise<unknown>, boolean]>([
  ['became another one', async () => {
    await deleteAgent(grid.acme.store, 'bob')
    await grid.acme.agent('bob')
  }, true],
  ['got a guardrail', () => Promise.resolve(), false],
])('a recipient that %s during a send is checked again', async (_, change, isWritten) => {
  await open()
  const account = storeOf(grid, grid.alice)
  let isFirst = true
  const changing = {
    ...account,
    async write(statements: Parameters<AccountStore['write']>[0]) {
      if (!isFirst) return await account.write(statements)
      isFirst = false
      await change()
      await guard(grid.acme, 'bob', { direction: 'inbound' })
      // A new guardrail alone does not make a unit fail, so the second case simulates another failed condition.
      return isWritten ? await account.write(statements) : statements.map(() => [])
    },
  }

  await expect(sendMessage(changing, { agentId: grid.alice.id, alias: 'alice' }, { to: 'bob', text: secret }))
    .rejects.toMatchObject({ code: 'guardrail_blocked' })
})

function sendText(message: string, more: object = {}) {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message, ...more })
}

async function inbox() {
  return (await readMessages(storeOf(grid, grid.bob), {})).messages
}

test('local guardrails with the same configuration check a text once, even if they belong to two accounts', async () => {
  await open()
  await grid.evil.agent('desk', { visibility: 'public' })
  await guard(grid.acme, 'alice', { name: 'one', direction: 'outbound' })
  await guard(grid.acme, 'alice', { name: 'two', direction: 'outbound' })
  await guard(grid.acme, 'alice', { name: 'other', direction: 'outbound', config: { phrases: ['other'] } })
  await guard(grid.evil, 'desk', { direction: 'inbound' })

  await sendText('hello', { to: '@desk' })
  await sendText('again', { to: '@desk' })

  expect(asked()).toEqual(['outbound hello', 'outbound hello', 'outbound again', 'outbound again'])
})

test('a local guardrail checks a text again after another guardrail has changed it', async () => {
  await open()
  await guard(grid.acme, 'alice', { direction: 'outbound', action: 'redact' })
  await guard(grid.acme, 'bob', { direction: 'inbound' })

  const sent = await sendText(`the word is ${secret}`)

  expect(asked()).toEqual([`outbound the word is ${secret}`, 'inbound the word is [redacted]'])
  expect(sent.code).toBeUndefined()
})

test('a guardrail checks the text as delivered, and only once however often the commit is retried', async () => {
  await open()
  await guard(grid.acme, 'alice', { direction: 'outbound' })
  const account = storeOf(grid, grid.alice)
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

test('a service is called in each direction, and local guardrails do not wait for it', async () => {
  await open()
  const directions: string[] = []
  let answer = () => {}
  const answered = new Promise<void>((resolve) => (answer = resolve))
  providers.remote.check = async ({ direction }) => {
    directions.push(direction)
    // The service responds only after the local guardrail has checked the text.
    if (providers.asked.length === 0) await answered
    return { kinds: [] }
  }
  providers.asked.push = (...texts) => (answer(), Array.prototype.push.apply(providers.asked, texts))
  await guard(grid.acme, 'alice', { direction: 'both', provider: 'webhook' })
  await guard(grid.acme, 'alice', { direction: 'outbound' })
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })

  expect((await sendText('hello')).code).toBeUndefined()

  expect(directions).toEqual(['outbound', 'inbound'])
  expect(asked()).toEqual(['outbound hello'])
})

function asked(): string[] {
  return providers.asked.map(({ direction, text }) => `${direction} ${text}`)
}
