/** Guardrails of channel members. Each member gets the text as changed by its own guardrails. */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import type { Finding } from '../../../src/grid/message/ask-guardrails.ts'
import { createGuardrail, setAgentGuardrails } from '../../../src/grid/guardrails/guardrails.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { findPart } from '../../../src/grid/message/read-part.ts'
import { changedDeliveries } from '../../../src/grid/message/redacted.ts'
import { newKeyRing } from '../../../src/lib/key-ring.ts'
import type { ReviewedMessage } from '../../../src/store/account/new-message.ts'
import { onEachDatabase, type OpenGrid } from '../../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>
let carol: TestAgent
let dave: TestAgent

async function start(open: OpenGrid) {
  providers = testProviders()
  grid = await open({ ...providers, env: { GRID_KEYS: newKeyRing() } })
  carol = await grid.acme.agent('carol')
  dave = await grid.acme.agent('dave')
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol', 'dave'] })
}

onEachDatabase((open) => {
  beforeEach(() => start(open))

  test('a post reaches everybody except the member whose guardrail blocks it', async () => {
    await guard(grid.acme, 'bob', { name: 'strict', direction: 'inbound' })

    const sent = await post(`the word is ${secret}`, { idempotency_key: 'k' })
    const repeated = await post(`the word is ${secret}`, { idempotency_key: 'k' })

    expect(sent.text).toMatchObject({ recipients: 2, left_out: 1 })
    expect(repeated.text).toEqual(sent.text)
    expect(await texts(grid.bob)).toEqual([])
    expect(await texts(carol)).toEqual([`the word is ${secret}`])
    expect(await texts(dave)).toEqual([`the word is ${secret}`])
    const status = await callTool(grid, grid.alice.key, 'message_status', { message_id: sent.text.message_id })
    expect(status.text.guardrails).toEqual([{ action: 'blocked', kinds: [kind], name: 'strict', agents: ['@bob'] }])
    expect(status.text.timeline.map(({ alias }: { alias: string }) => alias)).not.toContain('@bob')
  })

  test('a service checks a post once, however many members have its guardrail', async () => {
    let asked = 0
    providers.remote.check = () => {
      asked++
      return { kinds: [] }
    }
    const id = await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })
    for (const agent of ['carol', 'dave']) {
      await setAgentGuardrails(grid.acme.store, { agent, guardrails: [{ ref: id, direction: 'inbound' }] })
    }

    await post('hello')

    expect(asked).toBe(1)
    expect(await texts(dave)).toEqual(['hello'])
  })

  test('a redaction for one member is visible to that member only, everywhere', async () => {
    await guard(grid.acme, 'bob', { name: 'private', direction: 'inbound', action: 'redact' })
    await guard(grid.acme, 'dave', { name: 'careful', direction: 'inbound', action: 'flag' })
    const text = `${'x'.repeat(50)} ${secret} ${'y'.repeat(50)}`

    const sent = await post(text)
    const id = sent.text.message_id
    expect(sent.text).toMatchObject({ recipients: 3 })
    expect(sent.text).not.toHaveProperty('redacted')

    const masked = text.replace(secret, '[redacted]')
    const read = (args: object) => callTool(grid, grid.bob.key, 'read_messages', { ...args })
    expect((await read({ peek: true })).text).toMatchObject([{ message: masked, flagged: true }])
    expect((await read({ message_id: id })).text[0].message).toBe(masked)
    expect((await read({ message_id: id, offset: 51 })).text[0].message).toBe(masked.slice(51))
    const short = await read({ max_chars: 61 })
    expect(short.text[0]).toMatchObject({ message: masked.slice(0, 61), shortened: { length: masked.length } })
    expect((await read({ since: 'last_batch' })).text[0].message).toBe(masked)
    expect((await read({ since: '1h' })).text[0].message).toBe(masked)

    expect(await received(carol)).toMatchObject([{ message: text }])
    expect((await received(dave))[0]).toMatchObject({ message: text, flagged: true })
    const status = await callTool(grid, grid.alice.key, 'message_status', { message_id: id })
    expect(status.text.guardrails).toEqual([
      { action: 'flagged', kinds: [kind], name: 'careful', agents: ['@dave'] },
      { action: 'redacted', kinds: [kind], name: 'private', agents: ['@bob'] },
    ])
    expect(JSON.stringify(status)).not.toContain(secret)
  })

  test('a member cannot fetch the originals of large parts that were redacted for it', async () => {
    await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
    const file = `${'x'.repeat(20_000)} ${secret}`
    const a2a = { messageId: 'm', parts: [{ raw: btoa(file), mediaType: 'text/plain' }, { data: { [secret]: 1 } }] }

    const { id } = await sendMessage(storeOf(grid, grid.alice), { to: '#general', text: 'hi', a2a })

    const [message] = await received(grid.bob)
    expect(JSON.stringify(message)).not.toContain(secret)
    const part = await findPart(storeOf(grid, grid.bob), `${id}.0`)
    const masked = (await part.bytes(0, part.length)).toString()
    expect(masked).not.toContain(secret)
    expect(masked).toContain('[redacted]')
    const whole = await findPart(storeOf(grid, carol), `${id}.0`)
    expect((await whole.bytes(0, whole.length)).toString()).toContain(secret)
    expect(JSON.stringify(await received(carol))).toContain(secret)
  })

  test("each of many guardrails checks a post once for all members, and each member's own action applies", async () => {
    const ids = []
    for (let n = 0; n < 41; n++) {
      const config = { phrases: [`word-${n}.`] }
      ids.push((await createGuardrail(grid.acme.store, { name: `g${n}`, provider: 'phrases', config })).id)
    }
    for (const [agent, action] of [['bob', 'block'], ['carol', 'redact'], ['dave', 'flag']] as const) {
      const guardrails = ids.map((ref) => ({ ref, direction: 'inbound' as const, action }))
      await setAgentGuardrails(grid.acme.store, { agent, guardrails })
    }
    const before = providers.asked.length

    const sent = await post('word-0. word-20. word-40.')

    expect(providers.asked.length - before).toBe(41)
    expect(sent.text).toMatchObject({ recipients: 2, left_out: 1 })
    expect(await texts(grid.bob)).toEqual([])
    expect(await texts(carol)).toEqual(['[redacted] [redacted] [redacted]'])
    expect(await received(dave)).toMatchObject([{ message: 'word-0. word-20. word-40.', flagged: true }])
  })
})

test('hundreds of redacted copies of a long post omit the text if they would be too large in total', async () => {
  const finding = (n: number): Finding => ({
    guardrail: { agentIds: [`first-${n}`, `second-${n}`] } as Finding['guardrail'],
    action: 'redacted',
    kinds: [],
    spans: [{ start: n, end: n + 1 }],
  })
  const found = Array.from({ length: 250 }, (_, n) => finding(n))
  found.forEach(({ guardrail }, n) => guardrail.id = `${n}`)
  const text = 'x'.repeat(90_000)
  const content = { body: 'hi', details: { parts: [{ text }] } }

  const deliveries = await changedDeliveries(
    { id: 'm', body: 'hi', a2a: null } as ReviewedMessage,
    content,
    `hi\n${text}`,
    found,
  )

  expect(deliveries.flatMap(({ agentIds }) => agentIds)).toHaveLength(500)
  const sizes = deliveries.map(({ copy, agentIds }) => agentIds.length * copy!.a2a!.length)
  expect(sizes[0]).toBeGreaterThan(180_000)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(6_100_000)
  expect(deliveries.at(-1)!.copy).toMatchObject({ body: '[redacted]', a2a: '{"parts":[{"text":"[redacted]"}]}' })
})

function post(message: string, more: object = {}) {
  return callTool(grid, grid.alice.key, 'send_message', { to: '#general', message, ...more })
}

async function received(agent: TestAgent) {
  return (await readMessages(storeOf(grid, agent), {})).messages
}

async function texts(agent: TestAgent) {
  return (await received(agent)).map(({ message }) => message)
}
