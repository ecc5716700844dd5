/** The Network page: how many messages agents send to each other. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { script, style } from '../../../src/features/network/assets.ts'
import { maxAgents } from '../../../src/features/network/network.ts'
import { createGuardrail, setAgentGuardrails } from '../../../src/grid/guardrails/guardrails.ts'
import { day, hour, minute } from '../../../src/lib/time.ts'
import { sweep } from '../../../src/worker/retention.ts'
import { followLog } from '../../../src/worker/followers.ts'
import type { Browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { signedInByEmail, signedInMember } from '../../support/people.ts'

let grid: TestGrid
let owner: Browser
let page: string
beforeEach(async () => {
  grid = await testGrid()
  grid.clock.now = Date.UTC(2026, 10, 23, 12, 30)
  owner = await signedInByEmail(grid, 'ann@acme.example')
  page = `/accounts/${grid.acme.id}/network`
})
afterEach(() => grid.close())

async function send(from: TestAgent, to: string, more: object = {}) {
  const { id } = await sendMessage(storeOf(grid, from), { to, text: 'a secret', ...more })
  await followLog(grid.store)
  return id
}

/** Returns the non-empty cells of each row in a table, by default in the table of pairs. */
async function tableOf(path = page, one = owner, id = 'network'): Promise<string[]> {
  const { html } = await one.open(path)
  const [, table = ''] = html.split(`<table id="${id}"`)
  return [...table.split('</table>')[0].matchAll(/<tr role="row"><th scope="row".*?<\/tr>/g)]
    .map(([row]) => row.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ').trim())
}

test('the picture and the table show the messages of pairs and channels in each direction', async () => {
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  for (let n = 0; n < 3; n++) await send(grid.alice, 'bob')
  await send(grid.bob, 'alice')
  await send(grid.alice, '#ops')

  expect(await tableOf()).toEqual([
    '@alice and @bob 4 3 / 1 0 just now',
    '#ops and @alice 1 0 / 1 0 just now',
  ])
  const { html } = await owner.open(page)
  expect(html).toContain('@alice to @bob 3, @bob to @alice 1, last just now')
  expect(html).toContain('@bob: sent 1, received 3')
  expect(html).toContain('#ops: 1 post')
  expect(html).not.toContain('secret')
})

test('weak pairs are folded and not drawn, unless they fail or there are few pairs', async () => {
  const others = Array.from({ length: 13 }, (_, n) => `other-${n}`)
  for (const alias of others) await grid.acme.agent(alias)
  for (let n = 0; n < 51; n++) await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'x' })
  for (const alias of others.slice(0, 12)) await sendMessage(storeOf(grid, grid.alice), { to: alias, text: 'x' })
  await followLog(grid.store)
  const seen = async () => {
    const { html, text } = await owner.open(page)
    const counts = [html.match(/class="edge"/g)!.length, (await tableOf()).length]
    return [
      ...counts,
      (await tableOf(page, owner, 'network-more')).length,
      text.includes('The weakest pair is not drawn.'),
    ]
  }

  expect(await seen()).toEqual([12, 12, 1, true])
  const [last] = (await tableOf(page, owner, 'network-more'))[0].match(/other-\d+/)!
  const { id } = (await grid.acme.store.read.agents.byAlias(last))!
  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(id, grid.clock.now)])
  expect(await seen()).toEqual([13, 13, 0, false])
})

test('the windows of an hour, a day and a week show the messages sent in them, and older counts are deleted', async () => {
  await send(grid.alice, 'bob')
  const seen = async () =>
    await Promise.all(['hour', 'day', 'week'].map(async (window) => (await tableOf(`${page}?window=${window}`)).length))
  const counts = () => rows(grid, "SELECT 1 FROM traffic WHERE account_id = ? AND source > ''", [grid.acme.id])
  expect(await seen()).toEqual([1, 1, 1])
  // One minute before the end of the next hour.
  grid.clock.now += 89 * minute
  expect(await seen()).toEqual([1, 1, 1])
  grid.clock.now += minute
  expect(await seen()).toEqual([0, 1, 1])
  grid.clock.now += day
  owner = await signedInByEmail(grid, 'ann@acme.example')
  await sweep(grid.store)
  expect(await seen()).toEqual([0, 0, 1])

  expect(await counts()).toHaveLength(1)
  grid.clock.now += 7 * day
  await sweep(grid.store)
  expect(await counts()).toEqual([])
})

test('refused and parked messages count as failed', async () => {
  await send(grid.alice, 'bob')
  const config = { preset: 'none', phrases: ['forbidden'] }
  await createGuardrail(grid.acme.store, { name: 'words', provider: 'phrases', config, action: 'block' })
  await setAgentGuardrails(grid.acme.store, { agent: 'bob', guardrails: [{ ref: 'words' }] })
  await expect(send(grid.alice, 'bob', { text: 'forbidden' })).rejects.toThrow()
  expect(await tableOf()).toEqual(['@alice and @bob 1 1 / 0 1 just now'])

  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(grid.bob.id, grid.clock.now)])
  expect(await tableOf()).toEqual(['@alice and @bob 1 1 / 0 2 just now'])
  expect((await owner.open(page)).html).toMatch(/class="line failing"/)
  // Messages that a guardrail could not check count as well.
  await rows(grid, "UPDATE verdicts SET action = 'failed' WHERE account_id = ?", [grid.acme.id])
  expect(await tableOf()).toEqual(['@alice and @bob 1 1 / 0 2 just now'])
  grid.clock.now += 2 * hour
  expect(await tableOf(`${page}?window=hour`)).toEqual([])
})

test('a deleted agent is not shown', async () => {
  await send(grid.alice, 'bob')
  await grid.acme.store.write(grid.acme.store.change.agents.softDelete(grid.bob.id, grid.clock.now))

  expect(await tableOf()).toEqual([])
  expect((await owner.open(page)).html).not.toContain('@bob')
})

test('a line links to the conversation for people who may read it, and otherwise to a page without texts', async () => {
  await send(grid.alice, 'bob')
  const linkOf = async (one: Browser) => (await one.open(page)).html.match(/<th[^>]*><a href="([^"]*)">/)![1]

  expect(await linkOf(owner)).toMatch(/\/conversations\/\d+$/)
  for (const role of ['member', 'viewer'] as const) {
    expect(await linkOf(await signedInMember(grid, grid.acme, role))).toMatch(/\/agents\/alice$/)
  }
})

test('an agent of another account is shown by its alias without a link, and each account has its own counts', async () => {
  const desk = await grid.evil.agent('desk', { visibility: 'public' })
  await send(grid.alice, 'desk')
  await sendMessage(storeOf(grid, desk, grid.evil), { to: 'alice', text: 'x' })
  await followLog(grid.store)

  expect(await tableOf()).toEqual(['@alice and @desk 2 1 / 1 0 just now'])
  expect((await owner.open(page)).html).not.toContain('/agents/desk')
  const ed = await signedInByEmail(grid, 'ed@evil.example')
  expect(await tableOf(`/accounts/${grid.evil.id}/network`, ed)).toEqual(['@desk and @alice 2 1 / 1 0 just now'])
})

/** Adds agents that were last seen long ago. */
async function add(from: number, to: number): Promise<void> {
  await rows(
    grid,
    `INSERT INTO agents
        (account_id, id, alias, type, visibility, access_policy, description, created_at, last_seen_at)
      WITH RECURSIVE numbers(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)
      SELECT ?, 'id-' || n, 'agent-' || n, 'mcp', 'private', 'auto_approve', '', 1, 1 FROM numbers`,
    [from, to, grid.acme.id],
  )
}

test('with too many agents, the page shows only those seen most recently, and the messages that they sent', async () => {
  const carol = await grid.acme.agent('carol')
  await send(grid.alice, 'bob')
  await send(carol, 'bob')
  await send(grid.alice, 'carol')
  const { acme, alice, bob } = grid
  const seen = 'UPDATE agents SET last_seen_at = 2 WHERE account_id = ? AND id IN (?, ?)'
  await rows(grid, seen, [acme.id, alice.id, bob.id])
  await add(0, maxAgents - 3)
  expect((await tableOf(`${page}?open=In%20no%20channel`)).sort()).toEqual([
    '@alice and @bob 1 1 / 0 0 just now',
    '@alice and @carol 1 1 / 0 0 just now',
    '@bob and @carol 1 0 / 1 0 just now',
  ])

  await add(maxAgents - 3, maxAgents - 2)
  expect((await tableOf(`${page}?open=In%20no%20channel`)).sort()).toEqual([
    '@alice and @bob 1 1 / 0 0 just now',
    '@alice and Other agents 1 1 / 0 0 just now',
  ])
  expect((await owner.open(page)).text).toContain('Messages from the 500 agents that were seen last are counted')
})

test('many agents are shown as groups (failing ones first, then the slowest), and an open group shows its members and pairs', async () => {
  const carol = await grid.acme.agent('carol')
  await grid.acme.agent('dave')
  await createChannel(grid.acme.store, { name: 'busy', members: ['alice', 'bob'] })
  await createChannel(grid.acme.store, { name: 'slow', members: ['carol', 'dave'] })
  await send(grid.alice, 'bob')
  await send(grid.alice, '#busy')
  expect((await owner.open(page)).html).toContain('class="network ring"')
  await add(0, 40)
  const groups = () => tableOf(page, owner, 'network-groups')
  expect(await groups()).toEqual([
    '#busy 2 members 2 2 0 –',
    '#slow 2 members 0 0 0 –',
    'In no channel 40 members 0 0 0 –',
  ])
  expect((await owner.open(page)).html).not.toContain('class="network ring"')

  const asked = await send(grid.bob, 'carol')
  grid.clock.now += 5 * minute
  await send(carol, 'bob', { replyToMessageId: asked })
  expect(await groups()).toEqual([
    '#slow 2 members 1 1 0 5 min',
    '#busy 2 members 3 3 0 –',
    'In no channel 40 members 0 0 0 –',
  ])
  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(grid.bob.id, grid.clock.now)])
  expect((await groups())[0]).toBe('#busy 2 members 3 3 3 –')

  const open = `${page}?window=day&group=channel&open=%23busy`
  expect((await owner.open(page)).html).toContain(`href="${open.replaceAll('&', '&amp;')}"`)
  expect(await tableOf(open, owner, 'network-members')).toEqual([
    '@bob 1 2 2 –',
    '@alice 2 0 2 –',
    '#busy 0 1 1 –',
  ])
  expect(await tableOf(open)).toHaveLength(3)
  const idle = await tableOf(open.replace('%23busy', 'In+no+channel'), owner, 'network-members')
  expect(idle[0]).toContain('not seen in this period 0 0 0 –')
  expect(await tableOf(open.replace('busy', 'slow'))).toEqual(['@bob and @carol 2 1 / 1 1 just now'])
})

test('the navigation entry follows Attention and has a shortcut key, and the page loads its own style and script', async () => {
  const { html } = await owner.open(page)
  const [, side] = html.match(/<nav class="side".*?<\/nav>/)![0].split('/attention"')
  expect(side.match(/<a [^>]*>/)![0]).toBe(`<a href="${page}" aria-current="page">`)
  expect(html).toContain(`<a href="${page}" data-key="g n">Network</a>`)
  for (const { path } of [style, script]) expect(html).toContain(`="${path}"`)
})

test("an agent's page shows its average answer times, in total and by partner", async () => {
  const first = await send(grid.alice, 'bob')
  const second = await send(grid.alice, 'bob')
  grid.clock.now += 60_000
  await send(grid.bob, 'alice', { replyToMessageId: first })
  grid.clock.now += 120_000
  await send(grid.bob, 'alice', { replyToMessageId: second })
  const carol = await grid.acme.agent('carol')
  const third = await send(carol, 'bob')
  grid.clock.now += 10 * 60_000
  await send(grid.bob, 'carol', { replyToMessageId: third })

  const { html } = await owner.open(`/accounts/${grid.acme.id}/agents/bob`)
  expect(html).toContain('3 answers took 4 min on average')
  expect(html).toContain('2 answers to @alice took 2 min on average')
  expect(html).toContain('1 answer to @carol took 10 min on average')
  expect((await owner.open(`/accounts/${grid.acme.id}/agents/alice`)).html).not.toContain('Answer times')

  grid.clock.now += 7 * day
  owner = await signedInByEmail(grid, 'ann@acme.example')
  expect((await owner.open(`/accounts/${grid.acme.id}/agents/bob`)).html).not.toContain('Answer times')
})
