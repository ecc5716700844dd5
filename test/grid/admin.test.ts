/** Admin verbs on agents, channels, skills and guardrails, and their rows in the activity log. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GridError } from '../../src/errors.ts'
import { recordActivity } from '../../src/grid/activity.ts'
import { createAgent, deleteAgent } from '../../src/grid/agents/agents.ts'
import { setAgentSkills } from '../../src/grid/agents/skills.ts'
import { createChannel, deleteChannel, setChannelMembers } from '../../src/grid/channels/channels.ts'
import { createGuardrail, setAgentGuardrails } from '../../src/grid/guardrails/guardrails.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
let acme: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  acme = grid.acme.store
})
afterEach(() => grid.close())

test('members of a channel are replaced all or nothing', async () => {
  await createChannel(acme, { name: 'general', members: ['alice', '@Bob', grid.bob.id] })

  const failed = setChannelMembers(acme, { channel: 'general', members: ['alice', 'nobody'] })

  await expect(failed).rejects.toMatchObject({ code: 'agent_not_found' })
  expect(await acme.read.channels.page('', 10)).toMatchObject([{ name: 'general', memberCount: 2 }])
  const set = await setChannelMembers(acme, { channel: '#general', members: [] })
  expect(set).toMatchObject({ channel: { memberCount: 0 }, members: [] })
})

test('a deleted channel leaves the listing and frees its name for the account', async () => {
  const { channel } = await createChannel(acme, { name: 'general', members: ['alice'] })

  await expect(createChannel(acme, { name: 'general' })).rejects.toMatchObject({ code: 'channel_taken' })
  await deleteChannel(acme, channel.id)

  expect(await acme.read.channels.page('', 10)).toEqual([])
  await expect(deleteChannel(acme, 'general')).rejects.toMatchObject({ code: 'channel_not_found' })
  await createChannel(acme, { name: 'general' })
})

test('an alias stays with the account of its deleted agent', async () => {
  await deleteAgent(acme, 'bob')

  await expect(deleteAgent(acme, grid.bob.id)).rejects.toMatchObject({ code: 'agent_not_found' })
  await expect(createAgent(grid.evil.store, { alias: 'bob' })).rejects.toMatchObject({ code: 'alias_taken' })
  const { agent } = await createAgent(acme, { alias: 'bob' })
  expect(agent.id).not.toBe(grid.bob.id)
})

test('skills and guardrails are replaced as a whole', async () => {
  await createGuardrail(acme, { name: 'no-secrets', provider: 'pii', config: { kinds: ['api_key'] } })
  await createGuardrail(acme, { name: 'short', provider: 'length', config: { maxCharacters: 500 }, action: 'flag' })

  await setAgentSkills(acme, { agent: '@bob', skills: [{ name: 'sums' }, { name: 'sums' }, { name: 'tax' }] })
  await setAgentSkills(acme, { agent: grid.bob.id, skills: [{ name: 'tax' }] })
  await setAgentGuardrails(acme, { agent: 'bob', guardrails: [{ ref: 'no-secrets' }] })
  const { guardrails } = await setAgentGuardrails(acme, {
    agent: 'bob',
    guardrails: [{ ref: 'short', direction: 'inbound', action: 'block' }],
  })

  expect(guardrails).toMatchObject([{ name: 'short', direction: 'inbound', action: 'block' }])
  expect(await acme.read.skills.withCounts('', 10)).toMatchObject([{ name: 'sums', agentCount: 0 }, {
    name: 'tax',
    agentCount: 1,
  }])
  expect(await acme.read.guardrails.list()).toMatchObject([{ name: 'no-secrets', agentCount: 0 }, {
    name: 'short',
    agentCount: 1,
  }])
})

test('listing a guardrail twice for one agent is refused', async () => {
  await createGuardrail(acme, { name: 'hook', provider: 'length', config: { maxCharacters: 9 } })

  const twice = setAgentGuardrails(acme, {
    agent: 'bob',
    guardrails: [{ ref: 'hook', direction: 'inbound' }, { ref: 'hook', direction: 'outbound', action: 'flag' }],
  })

  await expect(twice).rejects.toMatchObject({ code: 'invalid_input' })
})

test('the URL of a guardrail may not contain credentials', async () => {
  const config = { url: 'https://user:secret@hook.example/check' }

  await expect(createGuardrail(acme, { name: 'hook', provider: 'webhook', config, token: 't' })).rejects.toThrow(
    'must have no user or password',
  )
})

test('an account has 1,000 skills and no more', async () => {
  const batch = (n: number) => Array.from({ length: 200 }, (_, i) => ({ name: `skill ${n * 200 + i}` }))
  for (let n = 0; n < 5; n++) await setAgentSkills(acme, { agent: 'bob', skills: batch(n) })

  await expect(setAgentSkills(acme, { agent: 'bob', skills: [{ name: 'one more' }] })).rejects.toMatchObject({
    code: 'invalid_input',
  })
  await setAgentSkills(acme, { agent: 'alice', skills: batch(4) })
  expect(await acme.read.skills.list()).toHaveLength(1_000)
})

test('the token of a guardrail is stored sealed and never returned', async () => {
  await createGuardrail(acme, { name: 'judge', provider: 'openai-moderation', token: 'sk-canary-123456' })

  const [listed] = await acme.read.guardrails.list()
  expect(Object.keys(listed)).not.toContain('encryptedToken')
  expect(JSON.stringify(listed)).not.toContain('canary')
})

test('every admin call writes one row, in the unit of its change', async () => {
  const call = (tool: string, args: unknown) => ({ tool, arguments: args, requestId: 'r1' })
  await recordActivity(
    acme,
    call('admin_create_agent', { alias: 'carol', remoteToken: 'hush' }),
    (account) => createAgent(account, { alias: 'carol' }),
  )
  await recordActivity(acme, call('admin_delete_agent', { id: 'x' }), (account) => deleteAgent(account, 'x')).catch(
    () => {},
  )
  await recordActivity(acme, call('admin_list_agents', {}), (account) => account.read.agents.total())

  const rows = await acme.read.activity.list()
  expect(rows.map((row) => [row.n, row.tool, row.outcome])).toEqual([
    [3, 'admin_list_agents', 'ok'],
    [2, 'admin_delete_agent', 'agent_not_found'],
    [1, 'admin_create_agent', 'ok'],
  ])
  expect(rows[2].arguments).toBe('{"alias":"carol","remoteToken":"…"}')
})

test('a call with an unknown outcome does not write a second, contradicting row', async () => {
  const lossy: AccountStore = {
    ...acme,
    async record(entry, statements) {
      await acme.record(entry, statements)
      throw new GridError('unavailable', 'The response was lost.')
    },
  }

  const call = recordActivity(
    lossy,
    { tool: 't', arguments: {}, requestId: null },
    (account) => createAgent(account, { alias: 'carol' }),
  )

  await expect(call).rejects.toMatchObject({ code: 'unavailable' })
  expect(await acme.read.activity.list()).toMatchObject([{ tool: 't', outcome: 'ok' }])
})

test('100 concurrent admin calls write 100 rows, with numbers without gaps', async () => {
  await Promise.all(
    Array.from(
      { length: 100 },
      (_, n) =>
        recordActivity(
          acme,
          { tool: 't', arguments: { n }, requestId: null },
          (account) => createAgent(account, { alias: `agent-${n}` }),
        ),
    ),
  )

  expect((await acme.read.activity.list()).map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, i) => 100 - i))
})
