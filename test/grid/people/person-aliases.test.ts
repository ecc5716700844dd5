/** People's aliases. See docs/people.md, "People who write". */
import { beforeEach, expect, test } from 'vitest'
import { roles } from '../../../src/auth/actor.ts'
import { reissueKey, updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { createAgent, deleteAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel, listChannels } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { setAutomated } from '../../../src/grid/messaging/turns.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { chooseAlias, findPersonAlias, giveUpAlias, suggestAlias } from '../../../src/grid/people/person-aliases.ts'
import { leaveAccount, removeMember, setMemberRole } from '../../../src/grid/people/team.ts'
import { day } from '../../../src/lib/time.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { member, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test.each(roles)('every member except a viewer can choose an alias: %s', async (role) => {
  const { account } = await member(grid, { role })

  const chosen = chooseAlias(account, { alias: ' @ann ', description: 'asks for money' })

  if (role === 'viewer') {
    await expect(chosen).rejects.toMatchObject({ code: 'not_allowed' })
    expect(await findPersonAlias(account)).toBeUndefined()
  } else {
    expect(await chosen).toMatchObject({ alias: 'ann', description: 'asks for money' })
    expect(await findPersonAlias(account)).toEqual(await chosen)
  }
})

test('a person has one alias per account, and changing it keeps the old one reserved', async () => {
  const ann = await personWithAlias(grid, 'ann')
  const elsewhere = await personWithAlias(grid, 'ann-of-evil', { account: grid.evil })
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice'] })
  const { id } = await sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'before' })

  const changed = await chooseAlias(ann.account, { alias: 'annie' })
  await sendMessage(storeOf(grid, grid.alice), { to: '@annie', text: 'after' })

  expect(changed.agentId).toBe(ann.personAlias.agentId)
  expect((await listChannels(storeOf(grid, grid.alice))).channels[0].members).toEqual(['@alice', '@annie'])
  expect(await ann.account.read.inbox.unread(ann.personAlias.agentId)).toBe(2)
  expect((await messageStatus(storeOf(grid, grid.alice), id)).delivery).toBe('queued')
  await expect(sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'hi' })).rejects.toMatchObject({
    code: 'recipient_not_found',
  })
  await expect(chooseAlias(elsewhere.account, { alias: 'ann' })).rejects.toMatchObject({ code: 'alias_taken' })
  // Changes back to the old alias.
  expect((await chooseAlias(ann.account, { alias: 'ann' })).agentId).toBe(ann.personAlias.agentId)
  expect((await chooseAlias(ann.account, { alias: 'annie' })).agentId).toBe(ann.personAlias.agentId)
})

test("a person's former alias cannot become a program's, but can become another person's", async () => {
  const ann = await personWithAlias(grid, 'ann')
  await giveUpAlias(ann.account)

  await expect(createAgent(grid.acme.store, { alias: 'ann' })).rejects.toMatchObject({ code: 'alias_taken' })
  await expect(createAgent(grid.evil.store, { alias: 'ann' })).rejects.toMatchObject({ code: 'alias_taken' })
  expect(await personWithAlias(grid, 'ann')).toMatchObject({ personAlias: { alias: 'ann' } })
})

test("admins cannot create, change or delete a person's alias, or give it a key", async () => {
  await personWithAlias(grid, 'ann')
  const { store } = grid.acme
  const isPerson = { code: 'not_allowed', message: expect.stringContaining('@ann is a person.') }

  await expect(deleteAgent(store, 'ann')).rejects.toMatchObject(isPerson)
  await expect(updateAgent(store, { agent: 'ann', visibility: 'public' })).rejects.toMatchObject(isPerson)
  await expect(reissueKey(store, '@ann')).rejects.toMatchObject(isPerson)
  await expect(setAutomated(store, { agent: 'ann', isAutomated: true })).rejects.toMatchObject(isPerson)
  expect(
    await rows(
      grid,
      'SELECT id FROM credentials WHERE account_id = ? AND agent_id = (SELECT agent_id FROM person_aliases WHERE account_id = ?)',
      [
        grid.acme.id,
        grid.acme.id,
      ],
    ),
  ).toEqual([])
})

const ends: Record<string, (ann: Awaited<ReturnType<typeof personWithAlias>>) => Promise<unknown>> = {
  'the person gives it up': ({ account }) => giveUpAlias(account),
  'the person leaves': ({ account }) => leaveAccount(account),
  'the person is removed': ({ person }) => removeMember(grid.acme.store, person.id),
  'the person becomes a viewer': ({ person }) => setMemberRole(grid.acme.store, { userId: person.id, role: 'viewer' }),
}

test.each(Object.entries(ends))('an alias ends when %s, and its unread messages fail', async (_, end) => {
  const ann = await personWithAlias(grid, 'ann')
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice', 'bob'] })
  const { id } = await sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'for ann' })

  await end(ann)

  const status = await messageStatus(storeOf(grid, grid.alice), id)
  expect(status.delivery).toBe('failed')
  expect(status.timeline.map(({ event }) => event)).toEqual(['stored', 'parked'])
  await expect(sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'hi' })).rejects.toMatchObject({
    code: 'recipient_not_found',
  })
  expect((await listChannels(storeOf(grid, grid.alice))).channels[0].members).toEqual(['@alice', '@bob'])
  for (const [table, column] of [['person_aliases', 'user_id'], ['channel_members', 'joined_at']]) {
    const left = `SELECT ${column} FROM ${table} WHERE account_id = ? AND agent_id = ?`
    expect(await rows(grid, left, [grid.acme.id, ann.personAlias.agentId]), table).toEqual([])
  }
  // A request that the person began before the alias ended is also refused.
  await expect(writeMessage(ann.account, { to: '@alice', text: 'still me' })).rejects.toMatchObject({
    code: 'alias_required',
  })
})

test('the number of aliases that a person can reserve by changing theirs is limited', async () => {
  const { account } = await personWithAlias(grid, 'ann-0')
  for (let n = 1; n <= 20; n++) await chooseAlias(account, { alias: `ann-${n}` })

  await expect(chooseAlias(account, { alias: 'ann-21' })).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  expect(await chooseAlias(account, { alias: 'ann-20', description: 'still here' })).toMatchObject({ alias: 'ann-20' })
  grid.clock.now += day
  expect(await chooseAlias(account, { alias: 'ann-21' })).toMatchObject({ alias: 'ann-21' })
})

test('two simultaneous choices of an alias leave the person with one', async () => {
  const { account } = await member(grid)

  await Promise.allSettled([chooseAlias(account, { alias: 'ann' }), chooseAlias(account, { alias: 'annie' })])

  const live = await rows(
    grid,
    "SELECT alias FROM agents WHERE account_id = ? AND type = 'human' AND deleted_at IS NULL",
    [grid.acme.id],
  )
  expect(live).toHaveLength(1)
  expect((await findPersonAlias(account))?.alias).toBe(live[0].alias)
})

test.each([
  ['Ann Smith', ['ann', 'ann-smith', 'ann-smith-2']],
  ['Zoë van der Bé', ['zoe', 'zoe-van-der-be', 'zoe-van-der-be-2']],
  ['Li', ['li-2', 'li-3', 'li-4']],
  ['admin', ['admin-2', 'admin-3', 'admin-4']],
])('a person named %s is offered a free alias based on the name', async (name, expected) => {
  for (const alias of expected) {
    const { account, person } = await member(grid, { name })
    expect(await suggestAlias(account, { ...person, name })).toBe(alias)
    await chooseAlias(account, { alias })
  }
})
