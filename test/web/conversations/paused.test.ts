/** A paused conversation on its own page and in Attention. docs/conversations.md, "Conversations that run away". */
import { beforeEach, expect, test } from 'vitest'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { setTurnLimits } from '../../../src/grid/messaging/turns.ts'
import { minute } from '../../../src/lib/time.ts'
import { notifyOfPauses } from '../../../src/worker/pauses.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { say } from '../../support/conversations.ts'
import { pausesOf } from '../../support/echoes.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { signedIn, signedInByEmail, signedInMember } from '../../support/people.ts'
import { member } from '../../support/person-aliases.ts'

let grid: TestGrid
let path: string
beforeEach(async () => {
  grid = await testGrid()
  path = `/accounts/${grid.acme.id}`
  await setTurnLimits(grid.acme.store, { perHour: 4, hops: 0 })
})

/** Agents send in turn, each to its own recipient, until a message is refused. */
async function untilPaused(turns: [by: TestAgent, to: string, conversationId?: string][]): Promise<void> {
  for (let n = 0; n < 20; n++) {
    const [by, to, conversationId] = turns[n % turns.length]
    const sent = await sendMessage(storeOf(grid, by), { to, text: `turn ${n}`, conversationId }).catch((error) => error)
    if (sent.code === 'conversation_paused') {
      await followLog(grid.store)
      return
    }
    expect(sent.code).toBeUndefined()
    grid.clock.now += minute
  }
  throw new Error('Nothing was paused')
}

const pairOf = (): [TestAgent, string][] => [[grid.alice, '@bob'], [grid.bob, '@alice']]

test.each<[string, () => Promise<[TestAgent, string, string?][]>]>([
  ['of two agents', () => Promise.resolve(pairOf())],
  ['of two agents under an id', async () => {
    await say(grid, storeOf(grid, grid.alice), '@bob', 'an older one')
    return pairOf().map(([by, to]) => [by, to, 'a-job'])
  }],
  ['in a channel', async () => {
    await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
    return [[grid.alice, '#team'], [grid.bob, '#team']]
  }],
  ['of three agents under an id', async () => {
    const ring = [grid.alice, grid.bob, await grid.acme.agent('carol')]
    return ring.map((by, n) => [by, `@${ring[(n + 1) % 3].alias}`, 'a-job'])
  }],
  ['with an agent of another account', async () => {
    const desk = await grid.acme.agent('desk', { visibility: 'public' })
    await updateAgent(grid.evil.store, { agent: 'eve', visibility: 'public' })
    await say(grid, storeOf(grid, grid.alice), '@desk', 'something else')
    return [[desk, '@eve'], [grid.eve, '@desk']]
  }],
])("Attention links a paused conversation %s to the conversation's messages", async (_, turns) => {
  await untilPaused(await turns())
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const [{ threadId }] = await pausesOf(grid)
  const attention = await ann.open(`${path}/attention`)
  const thread = await ann.open(`${path}/conversations/${threadId}`)

  expect(attention.html).toContain(`<a class="open" href="${path}/conversations/${threadId}">`)
  expect(thread.text).toContain('turn 3')
  expect(thread.text).toMatch(/Paused since/)
})

test("a paused conversation's page explains the pause, shows messages, and lets permitted users resume", async () => {
  await untilPaused(pairOf())
  const [{ threadId }] = await pausesOf(grid)
  const page = `${path}/conversations/${threadId}`
  const viewer = await (await signedInMember(grid, grid.acme, 'viewer')).open(page)
  const admin = await signedInMember(grid, grid.acme, 'admin')
  const before = await admin.open(page)
  const after = await admin.submit(page, {}, `${path}/conversations/${encodeURIComponent('@alice @bob')}/resume`)

  const why =
    /Paused since .*answered each other 4 times in 4 min with no message from a person; the limit is 4 an hour/
  for (const { text } of [viewer, before]) expect(text).toMatch(why)
  expect(viewer.text).toContain('An owner or admin of the account can resume it.')
  expect(viewer.html).not.toContain('/resume')
  expect(before.text).toContain('turn 4')
  expect(after.at).toContain(page)
  expect(after.text).toContain('The conversation continues.')
  expect(after.text).not.toContain('Paused since')
})

test("Attention shows a paused conversation's last three messages to permitted readers, and records the reading", async () => {
  await untilPaused(pairOf())
  const open = async (role: 'owner' | 'member' | 'viewer') =>
    (await (await signedInMember(grid, grid.acme, role)).open(`${path}/attention`)).text
  const owner = await open('owner')
  const { account, person } = await member(grid, { role: 'owner' })
  const readings = () => account.read.activity.list({ tool: 'read_conversation' })

  expect(owner).toMatch(/@alice turn 2 .*@bob turn 3 .*@alice turn 4/)
  expect(owner).not.toContain('turn 1')
  expect(await readings()).toHaveLength(1)
  for (const role of ['member', 'viewer'] as const) expect(await open(role)).not.toContain('turn 4')
  await setPeopleRead(account, { choice: 'off' })
  const hidden = await (await signedIn(grid, person)).open(`${path}/attention`)
  expect(hidden.text).toContain('The conversation of @alice and @bob is paused')
  expect(hidden.text).not.toContain('turn 4')
  expect(await readings()).toHaveLength(1)
  expect((await (await signedIn(grid, person)).open(`${path}/home`)).html).toContain(`${path}/conversations/`)
})

test('the log names the grid, and not the operator, as the one that paused a conversation', async () => {
  await untilPaused(pairOf())
  await notifyOfPauses(grid.store)
  const { text } = await (await signedInByEmail(grid, 'ann@acme.example')).open(`${path}/activity`)

  expect(text).toMatch(
    /Paused the conversation of @alice ?, @bob ?, who kept answering each other .*The grid automatic/,
  )
  expect(text).not.toContain('command line')
})
