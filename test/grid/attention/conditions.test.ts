/** What appears in Attention, and what does not. docs/web.md, "Attention". */
import { beforeEach, expect, test, vi } from 'vitest'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { attentionOf, type Condition, findConditions } from '../../../src/grid/attention/attention.ts'
import { setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { createGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { day, hour } from '../../../src/lib/time.ts'
import { echo, pausedConversation } from '../../support/echoes.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { person } from '../../support/people.ts'
import { failTasks } from '../../../src/worker/retention.ts'
import { askFor } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { MESSAGES_PER_DAY: '10' } })
  // The other account's keys are equally old, and must not appear.
  await pausedConversation(grid.evil.store, ['eve', 'mallory'])
})

const found = async (): Promise<Condition[]> => await findConditions(grid.acme.store)
const kinds = async () => (await found()).map(({ kind }) => kind)
const send = (text: string) => sendMessage(storeOf(grid, grid.alice), { to: 'bob', text })

test('Attention shows an agent that has not read for an hour, how many messages wait for it, and since when', async () => {
  const at = grid.clock.now
  await send('one')
  grid.clock.now += hour - 1
  await send('two')
  expect(await kinds()).toEqual([])
  grid.clock.now += 1

  expect(await found()).toMatchObject([{
    ...{ kind: 'unread', subject: grid.bob.id, since: at, level: 2 },
    of: { agentId: grid.bob.id, alias: 'bob', lastSeenAt: null, since: at, unread: 2, sender: 'alice' },
  }])
  await readMessages(storeOf(grid, grid.bob), {})
  expect(await kinds()).toEqual([])
})

test('Attention shows an inbox that has reached 80 % of its quota, and an inbox that refuses other accounts', async () => {
  grid = await testGrid({ env: { UNREAD_PER_INBOX: '10' } })
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  const refuse = async (from: TestAgent, alias: string) => {
    const refused = sendMessage(storeOf(grid, from), { to: alias, text: 'hi' })
    await expect(refused).rejects.toMatchObject({ code: 'quota_exceeded' })
  }
  const level = async () => (await found()).find(({ kind }) => kind === 'inbox')?.level
  for (let n = 0; n < 7; n++) await send('hi')
  for (let n = 0; n < 2; n++) await sendMessage(storeOf(grid, grid.eve), { to: 'desk', text: 'hi' })
  expect(await kinds()).toEqual([])

  await send('hi')
  expect(await found()).toMatchObject([{
    ...{ kind: 'inbox', subject: grid.bob.id, since: null, level: 1 },
    of: { agentId: grid.bob.id, alias: 'bob', unread: 8, max: 10, refused: 0 },
  }])
  for (let n = 0; n < 2; n++) await send('hi')
  expect(await level()).toBe(2)
  for (let n = 0; n < 3; n++) await refuse(grid.alice, 'bob')
  await waitFor('the count', async () => await level() === 3)

  await readMessages(storeOf(grid, grid.bob), {})
  expect(await kinds()).toEqual([])
  await refuse(grid.eve, 'desk')
  await waitFor('the count', async () => (await kinds()).length > 0)
  expect(await found()).toMatchObject([{ kind: 'inbox', subject: desk.id, of: { unread: 2, max: 10, refused: 1 } }])
  grid.clock.now += hour - 1
  expect(await kinds()).toEqual(['inbox'])
  await readMessages(storeOf(grid, desk), {})
  expect(await kinds()).toEqual([])
})

test('Attention shows a task that has been silent for an hour, until the task changes', async () => {
  const alice = storeOf(grid, grid.alice)
  const bob = storeOf(grid, grid.bob)
  const { id } = await askFor(alice, 'a long job')
  await readMessages(bob, {})
  const since = grid.clock.now
  grid.clock.now += hour - 1
  await failTasks(grid.store)
  expect(await kinds()).toEqual([])
  grid.clock.now += 1
  await failTasks(grid.store)
  grid.clock.now += hour

  expect(await found()).toMatchObject([
    { kind: 'task', subject: id, since, level: 1, of: { state: 'working', client: 'alice', recipient: 'bob' } },
  ])
  await updateTask(bob, { taskId: id, text: 'part one', artifact: { id: 'a' } })
  expect(await kinds()).toEqual([])
  await updateTask(bob, { taskId: id, state: 'failed' })
  expect(await found()).toMatchObject([{ kind: 'task', subject: id, since: grid.clock.now, level: 2 }])
})

test('Attention names the author of an unread message only to people who may read it', async () => {
  await send('secret')
  grid.clock.now += hour
  const ann = await person(grid, { role: 'owner' })
  const max = await person(grid, { role: 'member' })
  const sender = async (user: typeof ann, role: 'owner' | 'member') => {
    const { open } = await attentionOf(grid.store.account(grid.acme.id, user.actor(role)), undefined)
    return open.map((condition) => condition.kind === 'unread' && condition.of.sender)
  }
  const set = (choice: 'on' | 'off' | 'older') =>
    setPeopleRead(grid.store.account(grid.acme.id, ann.actor('owner')), { choice })

  await set('off')
  expect([await sender(ann, 'owner'), await sender(max, 'member')]).toEqual([[undefined], [undefined]])
  await set('on')
  expect(await sender(ann, 'owner')).toEqual([undefined])
  await set('older')
  expect([await sender(ann, 'owner'), await sender(max, 'member')]).toEqual([['alice'], [undefined]])
})

test('Attention shows a paused conversation, and a conversation whose agents are asked to stop', async () => {
  const id = await pausedConversation(grid.acme.store, ['alice', 'bob'])
  await setTurnLimits(grid.acme.store, { warn: 3 })
  const carol = await grid.acme.agent('carol')
  await sendMessage(storeOf(grid, carol), { to: 'bob', text: 'hi' })
  await echo(grid, [grid.bob, carol], { most: 3 })
  await readMessages(storeOf(grid, grid.bob), {})
  await readMessages(storeOf(grid, carol), {})

  expect(await found()).toMatchObject([
    { kind: 'paused', subject: id, since: grid.clock.now, of: { agents: ['alice', 'bob'] } },
    { kind: 'turns', subject: '@bob @carol', since: grid.clock.now, level: 3 },
  ])
})

test('Attention shows a caller after three refused calls within a day, but not after two', async () => {
  const refused = () => callTool(grid, grid.acme.adminKey, 'admin_delete_agent', { alias: 'nobody' })
  const at = grid.clock.now
  await refused()
  await refused()
  expect(await kinds()).toEqual([])
  await refused()

  expect(await found()).toMatchObject([{
    ...{ kind: 'refused', since: at, level: 3 },
    of: { outcome: 'agent_not_found', keyName: 'first key', credentialKind: 'admin_key' },
  }])
  grid.clock.now += day + 1
  expect(await kinds()).toEqual([])
})

test('for a day, Attention shows a guardrail that could not check a message', async () => {
  const { id } = await createGuardrail(grid.acme.store, {
    name: 'remote',
    provider: 'length',
    config: { maxCharacters: 9 },
  })
  const verdict = {
    ...{ id: 'v', guardrailId: id, guardrailName: 'remote', direction: 'inbound' as const, action: 'failed' as const },
    ...{ kinds: [], agentIds: [grid.bob.id], textHash: 'h', content: null, failure: null },
  }
  const judged = {
    id: 'm',
    recipient: '@bob',
    at: grid.clock.now,
    senderAlias: 'alice',
    senderAccountId: grid.acme.id,
    conversationHash: null,
  }
  await grid.acme.store.write([...grid.acme.store.change.verdicts.add({ ...judged, isStored: false }, [verdict])])

  expect(await found()).toMatchObject([{
    kind: 'guardrail',
    subject: id,
    level: 1,
    of: { name: 'remote', refused: 1, unchecked: 0, isFailing: false },
  }])
  grid.clock.now += day + hour
  expect(await kinds()).toEqual([])
})

test('Attention shows unused and old keys to people who can change them', async () => {
  await callTool(grid, grid.alice.key, 'list_channels', {})
  // Sends a message, because a key's use is stored only with the next commit.
  await send('hi')
  await readMessages(storeOf(grid, grid.bob), {})
  grid.clock.now += 31 * day
  const unused = (await found()).filter(({ kind }) => kind === 'key')

  // Alice's key was used, so it must not appear.
  expect(unused.map(({ of }) => 'alias' in of && of.alias)).not.toContain('alice')
  expect(unused.map(({ of }) => 'alias' in of && of.alias)).toContain('bob')
  grid.clock.now += 91 * day
  const all = (await found()).flatMap((condition) => condition.kind === 'key' ? [condition.of.alias] : [])
  expect(all.sort()).toEqual(['alice', 'bob', null])

  const [ann, max] = [await person(grid, { role: 'admin' }), await person(grid, { role: 'member' })]
  const seen = async (role: 'admin' | 'member', { actor }: typeof ann) =>
    (await attentionOf(grid.store.account(grid.acme.id, actor(role)), undefined)).open.length
  expect([await seen('admin', ann), await seen('member', max)]).toEqual([3, 0])
})

test('Attention shows a quota that is nearly or completely used', async () => {
  for (let n = 0; n < 8; n++) await send('hi')
  await readMessages(storeOf(grid, grid.bob), { limit: 10 })
  expect(await found()).toMatchObject([
    { kind: 'quota', subject: 'messages', since: null, level: 1, of: { quota: 'messages', used: 8, max: 10 } },
  ])

  for (let n = 0; n < 2; n++) await send('hi')
  expect(await found()).toMatchObject([{ kind: 'quota', level: 2 }])
})

test('Attention shows an account how many of its rows a follower skipped, and shows a stuck follower', async () => {
  const { pulses } = grid.store.global
  const at = grid.clock.now
  await grid.evil.agent('trudy')
  await sendMessage(storeOf(grid, grid.eve), { to: 'trudy', text: 'of another account' })
  for (const text of ['one', 'two']) await send(text)
  const { messages } = await pulses.read()
  await grid.store.write([1, 2, 3].map((n) => {
    const batch = { after: messages - n, upTo: messages - n + 1 }
    return pulses.skip('search', batch, { from: 'messages', reason: 'a damaged row', at })
  }))
  expect(await found()).toMatchObject([{
    ...{ kind: 'follower', subject: 'search, left out', since: at, level: 2 },
    of: { follower: 'search', leftOut: 2, since: at },
  }])

  vi.spyOn(grid.store.loop, 'standing').mockReturnValue([{ follower: 'search', since: at - hour }])
  expect((await found()).map(({ subject }) => subject)).toEqual(['search', 'search, left out'])
})
