/** Guardrails that cannot check messages, their blocked messages, and their agents. See docs/protocol/guardrails.md. */
import { beforeEach, expect, test } from 'vitest'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { createAgent } from '../../../src/grid/agents/agents.ts'
import { allowService } from '../../../src/grid/guardrails/consents.ts'
import { attachGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { ProviderFailure } from '../../../src/guardrails/provider.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { signedInWithRole } from '../../support/roles.ts'
import { personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let base: string
let remote: ReturnType<typeof testProviders>['remote']
beforeEach(async () => {
  const providers = testProviders()
  remote = providers.remote
  grid = await testGrid({ guardrailChecks: providers.guardrailChecks })
  base = `/accounts/${grid.acme.id}`
})

const send = async (message: string) => {
  const sent = await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })
  await followLog(grid.store)
  return sent
}
const breaks = () => {
  throw new ProviderFailure('not_connected', 'connect ECONNREFUSED 10.0.0.1:9')
}

test('a failing webhook is reported from the first unchecked message until it works again', async () => {
  const id = await guard(grid.acme, 'bob', { name: 'dead', direction: 'inbound', provider: 'webhook', action: 'flag' })
  const ann = await signedInWithRole(grid, 'owner')
  remote.check = breaks

  await send('passed unseen')

  const attention = await ann.open(`${base}/attention`)
  expect(attention.text).toContain('The guardrail dead could not check 1 message')
  expect(attention.text).toMatch(/1 delivered unchecked.*The service was not reached.*/s)
  const page = await ann.open(`${base}/guardrails/${id}`)
  expect(page.text).toContain('It cannot check messages')
  expect(page.text).toContain('Messages are delivered unchecked.')
  expect(page.text).not.toContain('ECONNREFUSED')
  expect((await ann.open(`${base}/guardrails`)).text).toMatch(/dead .* 1 unchecked/)
  const conversations = await ann.open(`${base}/conversations`)
  expect(conversations.text).toContain('not checked')
  expect(conversations.text).not.toContain('flagged')
  expect((await ann.open(page.html.match(/href="([^"]*\/messages\/[^"]*)"/)![1])).text).toContain('passed unseen')

  remote.check = () => ({ kinds: [] })
  await send('checked')
  await send('and again')
  expect((await ann.open(`${base}/guardrails/${id}`)).text).not.toContain('It cannot check messages')
  expect((await ann.open(`${base}/attention`)).text).toContain('it works again')
})

test('a message that one guardrail objects to and another cannot check has both badges', async () => {
  await guard(grid.acme, 'bob', { name: 'dead', direction: 'inbound', provider: 'webhook', action: 'flag' })
  await guard(grid.acme, 'bob', { name: 'words', direction: 'inbound', action: 'flag' })
  remote.check = breaks
  await send(`a ${secret}`)

  const { text } = await (await signedInWithRole(grid, 'owner')).open(`${base}/conversations`)

  expect(text).toMatch(/not checked\s*flagged/)
})

test('permitted readers see a blocked message in its conversation, and many blocks in Attention', async () => {
  await guard(grid.acme, 'alice', { name: 'words', direction: 'outbound' })
  await send('first')
  for (let n = 0; n < 10; n++) await send(`${secret} ${n}`)
  const owner = await signedInWithRole(grid, 'owner')
  const member = await signedInWithRole(grid, 'member')

  const shown = await owner.open(`${base}/conversations`)
  expect(shown.text).toContain(`A message of @alice to @bob was blocked by words : ${kind}`)
  expect(shown.text).not.toContain(secret)
  const thread = shown.html.match(/href="([^"]*\/conversations\/\d+)/)![1]
  expect((await member.open(thread)).text).not.toContain('was blocked')
  expect((await owner.open(`${base}/attention`)).text).toContain('The guardrail words blocked 10 messages')

  await setPeopleRead(grid.acme.store, { choice: 'off' })
  expect((await owner.open(thread)).text).not.toContain('was blocked')
})

test('a guardrail for all agents applies to agents created later, and to people who allow its service', async () => {
  const owner = await signedInWithRole(grid, 'owner')
  const created = await owner.submit(`${base}/guardrails/new/webhook`, {
    ...{ name: 'everywhere', 'config.url': 'https://guard.example', token: `whsec_${btoa('a'.repeat(32))}` },
    ...{ attachTo: 'all', direction: 'inbound' },
  }, `${base}/guardrails/new/webhook`)
  const id = created.at.match(/guardrails\/([^?]+)/)![1]
  const attached = async () =>
    (await grid.acme.store.read.guardrails.agentsOf(id, 99, 0)).map(({ alias, direction }) => `${alias} ${direction}`)

  await createAgent(grid.acme.store, { alias: 'later', description: '' })
  expect(await attached()).toEqual(['alice inbound', 'bob inbound', 'later inbound'])
  expect(created.text).toContain('and to every new one')
  const zoe = await personWithAlias(grid, 'zoe')
  expect(await attached()).not.toContain('zoe inbound')
  await allowService(zoe.account, { provider: 'webhook', host: 'guard.example' })
  expect(await attached()).toContain('zoe inbound')

  await attachGuardrail(grid.acme.store, id, { direction: 'both', agents: ['bob'] })
  await createAgent(grid.acme.store, { alias: 'latest', description: '' })
  expect(await attached()).toEqual(['alice inbound', 'bob both', 'later inbound', 'zoe inbound'])
  const refused = await owner.submit(
    `${base}/guardrails/${id}`,
    { attachTo: 'chosen' },
    `${base}/guardrails/${id}/attach`,
  )
  expect(refused.text).toContain('Choose at least one agent.')
})
