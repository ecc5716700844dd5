/** Guardrails that send people's messages to a service. See docs/people.md, "People who write". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { allowService, disallowService } from '../../../src/grid/guardrails/consents.ts'
import { createGuardrail, updateGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { giveUpAlias } from '../../../src/grid/people/person-aliases.ts'
import { serviceOf } from '../../../src/guardrails/provider.ts'
import { providers } from '../../../src/guardrails/providers.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, signingSecret, testProviders } from '../../support/guarded.ts'
import { remoteProviders } from '../../support/guardrail-services.ts'
import { callTool } from '../../support/mcp.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

const host = 'guard.example'
let grid: TestGrid
let ann: PersonWithAlias
/** The texts sent to services. */
let sentOut: string[]

beforeEach(async () => {
  const { remote, guardrailChecks } = testProviders()
  sentOut = []
  remote.check = ({ text }) => {
    sentOut.push(text)
    return { kinds: [] }
  }
  grid = await testGrid({ guardrailChecks })
  ann = await personWithAlias(grid, 'ann', { name: 'Ann Smith', role: 'owner' })
})
afterEach(() => grid.close())

test("an admin cannot attach a remote guardrail to a person's alias before the person allows its service", async () => {
  const { id } = await webhook()

  const refused = await attach('ann', id)
  expect(refused).toMatchObject({
    code: 'consent_required',
    message: expect.stringContaining(`'webhook' sends messages to ${host}, and Ann Smith (@ann) has not allowed`),
  })
  await send('before')
  expect(sentOut).toEqual([])

  await expect(allowService(ann.account, { provider: 'webhook', host: 'other.example' }))
    .rejects.toMatchObject({ code: 'guardrail_not_found' })
  await allowService(ann.account, { provider: 'webhook', host })
  expect((await attach('ann', id)).code).toBeUndefined()
  await send('after')
  expect(sentOut).toEqual(['after'])
})

test('only the person can give consent, and only for their own alias', async () => {
  const { id } = await webhook()
  const bill = await personWithAlias(grid, 'bill', { role: 'owner' })

  await allowService(bill.account, { provider: 'webhook', host })

  expect((await attach('ann', id)).code).toBe('consent_required')
  await expect(allowService(grid.acme.store, { provider: 'webhook', host }))
    .rejects.toMatchObject({ code: 'wrong_credential' })
})

test.each([
  ['the person withdraws it, although another person and another provider have theirs', async () => {
    const bill = await personWithAlias(grid, 'bill')
    await allowService(bill.account, { provider: 'webhook', host })
    await judge()
    await allowService(ann.account, { provider: 'llm-judge', host })
    await disallowService(ann.account, { provider: 'webhook', host })
  }],
  [
    'the guardrail gets another host',
    (id: string) =>
      updateGuardrail(grid.acme.store, id, { config: { url: 'https://evil.example' }, token: signingSecret }),
  ],
])("a guardrail without the person's consent sends nothing to its service: %s", async (_, end) => {
  const id = await attached()
  await guard(grid.acme, 'ann', { direction: 'outbound', action: 'redact' })
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'ann'] })

  await end(id)
  await send('to the person')
  await callTool(grid, grid.alice.key, 'send_message', { to: '#general', message: 'to the channel' })
  await writeMessage(ann.account, { to: '@alice', text: `from the person, ${secret}` })

  expect(sentOut).toEqual([])
  // Guardrails that need no consent still act.
  expect((await read()).at(-1)).toMatchObject({ message: 'from the person, [redacted]' })
})

test('consent is per provider, so another provider at the same host needs its own consent', async () => {
  await attached()
  const { id } = await judge()

  expect((await attach('ann', id)).code).toBe('consent_required')
})

test("giving up an alias ends the consent for its messages, which does not apply to the person's new alias", async () => {
  const id = await attached()
  await giveUpAlias(ann.account)
  await personWithAlias(grid, 'annie', { name: 'Ann Smith' })

  expect((await attach('annie', id)).code).toBe('consent_required')
})

test('a message shows both sides which host got its text, and messages between agents need no consent', async () => {
  await attached()
  const sent = await send('for a person')
  await writeMessage(ann.account, { to: '@alice', text: 'an answer' })
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook', name: 'of bob' })
  const plain = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'for a program' })

  expect(sentOut).toEqual(['for a person', 'an answer', 'for a program'])
  expect((await status(sent.text.message_id)).shared_with).toBe(host)
  expect((await read())[0]).toMatchObject({ message: 'an answer', shared_with: host })
  expect(await status(plain.text.message_id)).not.toHaveProperty('shared_with')
  expect((await callTool(grid, grid.bob.key, 'read_messages', {})).text[0]).not.toHaveProperty('shared_with')
})
test('a guardrail for all agents is attached with the first consent, but not again by a later consent after it was detached', async () => {
  const { id } = await webhook()
  const { read, change, write } = grid.acme.store
  await write([change.guardrails.setAllAgents(id, 'both')])
  const service = { provider: 'webhook', host }
  await allowService(ann.account, service)
  expect(await read.guardrails.agentsOf(id, 10, 0)).toMatchObject([{ alias: 'ann', direction: 'both' }])

  await write([change.guardrails.detach(id)])
  await allowService(ann.account, service)
  expect(await read.guardrails.agentsOf(id, 10, 0)).toEqual([])
})

test('every remote provider names its host, and a local provider has none', () => {
  for (const provider of providers) {
    const { config } = remoteProviders[provider.id] ?? { config: () => ({}) }
    const service = serviceOf(provider, config('https://service.example'))
    expect(service?.host, provider.id).toBe(provider.kind === 'remote' ? 'service.example' : undefined)
  }
})

const webhook = () =>
  createGuardrail(grid.acme.store, {
    ...{ name: 'webhook', provider: 'webhook', config: { url: `https://${host}/check` }, token: signingSecret },
  })
const judge = () =>
  createGuardrail(grid.acme.store, {
    ...{ name: 'judge', provider: 'llm-judge', config: { baseUrl: `https://${host}`, model: 'm', policy: 'p' } },
    token: 't',
  })

/** Attaches a guardrail that checks @ann's messages with her consent. Returns the guardrail's id. */
async function attached(): Promise<string> {
  const { id } = await webhook()
  await allowService(ann.account, { provider: 'webhook', host })
  expect((await attach('ann', id)).code).toBeUndefined()
  return id
}

const attach = (alias: string, id: string) =>
  callTool(grid, grid.acme.adminKey, 'admin_set_agent_guardrails', { alias, guardrails: [id] })
const send = (message: string) => callTool(grid, grid.alice.key, 'send_message', { to: '@ann', message })
const read = async () => (await callTool(grid, grid.alice.key, 'read_messages', {})).text
const status = async (id: string) => (await callTool(grid, grid.alice.key, 'message_status', { message_id: id })).text
