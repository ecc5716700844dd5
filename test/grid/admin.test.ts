/** Admin verbs on agents, channels, skills and guardrails, and their rows in the activity log. */
import { beforeEach, expect, test } from 'vitest'
import { GridError } from '../../src/errors.ts'
import { recordActivity } from '../../src/grid/activity.ts'
import { createAgent, deleteAgent } from '../../src/grid/agents/agents.ts'
import { setAgentSkills } from '../../src/grid/agents/skills.ts'
import { createChannel, setChannelMembers } from '../../src/grid/channels/channels.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
let acme: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  acme = grid.acme.store
})

test("setting a channel's members replaces all of them or none", async () => {
  await createChannel(acme, { name: 'general', members: ['alice', '@Bob', grid.bob.id] })

  const failed = setChannelMembers(acme, { channel: 'general', members: ['alice', 'nobody'] })

  await expect(failed).rejects.toMatchObject({ code: 'agent_not_found' })
  expect(await acme.read.channels.page('', 10)).toMatchObject([{ name: 'general', memberCount: 2 }])
  const set = await setChannelMembers(acme, { channel: '#general', members: [] })
  expect(set).toMatchObject({ channel: { memberCount: 0 }, members: [] })
})

test("an alias stays reserved for its deleted agent's account", async () => {
  await deleteAgent(acme, 'bob')

  await expect(deleteAgent(acme, grid.bob.id)).rejects.toMatchObject({ code: 'agent_not_found' })
  await expect(createAgent(grid.evil.store, { alias: 'bob' })).rejects.toMatchObject({ code: 'alias_taken' })
  const { agent } = await createAgent(acme, { alias: 'bob' })
  expect(agent.id).not.toBe(grid.bob.id)
})

test('an account can have at most 1,000 skills', async () => {
  const batch = (n: number) => Array.from({ length: 200 }, (_, i) => ({ name: `skill ${n * 200 + i}` }))
  for (let n = 0; n < 5; n++) await setAgentSkills(acme, { agent: 'bob', skills: batch(n) })

  await expect(setAgentSkills(acme, { agent: 'bob', skills: [{ name: 'one more' }] })).rejects.toMatchObject({
    code: 'invalid_input',
  })
  await setAgentSkills(acme, { agent: 'alice', skills: batch(4) })
  expect(await acme.read.skills.list()).toHaveLength(1_000)
})

test('a call with an unknown outcome is not logged again with a different outcome', async () => {
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
