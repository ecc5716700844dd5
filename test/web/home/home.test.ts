/** An account's first page. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { roles } from '../../../src/auth/actor.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { maxQuestions } from '../../../src/grid/conversations/questions.ts'
import { placeOfSent } from '../../../src/grid/conversations/write.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { hour } from '../../../src/lib/time.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { rows } from '../../support/database.ts'
import { pausedConversation } from '../../support/echoes.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { hold } from '../../support/held.ts'
import { sendMessage } from '../../support/messaging.ts'
import { signedInByEmail, signedInMember } from '../../support/people.ts'
import { askFor } from '../../support/tasks.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let world: WritingGrid<TestGrid>
let home: string
beforeEach(async () => {
  world = await writingGrid(await testGrid())
  home = world.path('home')
})
afterEach(() => world.close())

test('Home shows what waits for the visitor, what is broken, and what is new, with all counts on one line', async () => {
  const { grid, tell, browser } = world
  await tell(grid.bob, 'alice', 'hello')
  expect((await browser.open(home)).text).toMatch(
    /Nothing waits for you, and nothing is broken\. Figures/,
  )

  await tell(grid.alice, 'ann', 'deploy now?')
  await tell(grid.bob, 'alice', 'a secret of agents')
  await tell(grid.bob, 'alice', 'another secret')
  grid.clock.now += 2 * hour
  const { text } = await browser.open(home)
  expect(text).toMatch(/1 answer 1 warning Waiting for your answer .*@alice ?: deploy now\? Dismiss 2 h ago/)
  expect(text).toMatch(/Warnings @alice has not read for 2 h/)
  expect(text).toContain('Attention 2 open')
  // Items that wait for the visitor are not repeated as new.
  expect(text).not.toContain('Since you were here')
  const owner = await signedInByEmail(grid, 'ann@acme.example')
  expect((await owner.open(home)).text).toMatch(/Since you were here .*@alice ?\+ ?@bob 3 new/)
  expect(text).not.toContain('secret')
})

test('Home lists conversations with new messages and their failures until they are opened', async () => {
  const { grid, tell, browser, path } = world
  const carol = await grid.acme.agent('carol')
  await tell(grid.alice, 'bob', 'lost')
  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(grid.bob.id, grid.clock.now)])
  grid.clock.now += 1
  const { thread } = await tell(carol, 'alice', 'newer')
  const owner = await signedInByEmail(grid, 'ann@acme.example')

  const { text } = await owner.open(home)
  expect(text).toMatch(/Since you were here .*@carol ?1 new .*1 failed ?, 1 new/)
  await owner.open(path('conversations', thread))
  expect((await owner.open(home)).text).toMatch(/Since you were here .*1 failed ?, 1 new(?!.*1 new)/)
  // The member takes part in neither conversation.
  expect((await browser.open(home)).text).not.toContain('Since you were here')
  // A conversation that the visitor has never opened counts as new for a day.
  grid.clock.now += 25 * hour
  const later = await signedInMember(grid, grid.acme, 'owner')
  expect((await later.open(home)).text).not.toContain('Since you were here')
})

test('Home says where to find the items that it omits', async () => {
  const { grid, browser } = world
  const notifyAll = async (agent: TestAgent, to: string, n: number) => {
    const sends = Array.from({ length: n }, (_, n) => n).map((n) =>
      sendMessage(storeOf(grid, agent), { to, text: 'one of many', conversationId: `${agent.alias}-${to}-${n}` })
    )
    for (const { id } of await Promise.all(sends)) await placeOfSent(storeOf(grid, agent), id)
  }
  const owner = await signedInByEmail(grid, 'ann@acme.example')
  await notifyAll(grid.alice, 'bob', 10)
  expect((await owner.open(home)).text).not.toContain('Older ones are in')
  await notifyAll(grid.alice, 'bob', 11)
  expect((await owner.open(home)).text).toContain('Older ones are in Conversations .')
  // Messages between others do not take space from the member's own.
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'ann'] })
  await world.tell(grid.alice, '#team', 'for all')
  await notifyAll(grid.alice, 'bob', 25)
  expect((await browser.open(home)).text).toMatch(/Since you were here #team 1 new(?!.*Older ones are in)/)

  await notifyAll(grid.alice, 'ann', maxQuestions - 1)
  expect((await browser.open(world.path('attention'))).text).not.toContain('are shown')
  await notifyAll(grid.bob, 'ann', 2)
  const n = maxQuestions + 1
  expect((await browser.open(home)).text).toMatch(new RegExp(`${n} answers .*All ${n}`))
  expect((await browser.open(world.path('attention'))).text).toMatch(
    new RegExp(`Attention ${n} open .*Answers ${n} .*${maxQuestions} of ${n} are shown, the newest\\.`),
  )
})

test('opening Home marks nothing as read and logs nothing', async () => {
  const { grid, tell } = world
  await tell(grid.alice, 'ann', 'for a person')
  await tell(grid.alice, 'bob', 'for an agent')
  const state = () =>
    Promise.all(
      ['SELECT * FROM activity', 'SELECT * FROM thread_seen', 'SELECT state, read_at FROM deliveries'].map((sql) =>
        rows(grid, `${sql} WHERE account_id = ?`, [grid.acme.id])
      ),
    )
  const browsers = [world.browser]
  for (const role of roles) browsers.push(await signedInMember(grid, grid.acme, role))
  const before = await state()
  for (const one of browsers) expect((await one.open(home)).status).toBe(200)

  expect(await state()).toEqual(before)
})

test('the figures on Home are hourly and daily, with the mean answer time, and exclude other accounts', async () => {
  const { grid, tell, browser } = world
  await grid.evil.agent('mallory')
  await sendMessage(storeOf(grid, grid.eve), { to: 'mallory', text: 'not yours' })
  const { id } = await tell(grid.alice, 'bob', 'a question')
  grid.clock.now += 5 * 60_000
  await tell(grid.bob, 'alice', 'the answer', { replyToMessageId: id })
  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(grid.bob.id, grid.clock.now)])
  await followLog(grid.store)

  for (const [page, span] of [[home, '24 hours'], [`${home}?figures=week`, '7 days']]) {
    const { html, text } = await browser.open(page)
    expect(html).toContain(`2 messages in the last ${span}`)
    expect(html).toContain(`Answers took 5 min in the last ${span}`)
    expect(html).toContain(`0 messages were refused and 1 failed in the last ${span}`)
    expect(text).toMatch(/ 2 5 min 0 1 /)
    // A person does not count as an agent.
    expect(text).toContain('2 agents, 0 seen within a day. 1 unread message in all inboxes.')
  }
})

test("the path of the former overview redirects to Home, and Settings shows today's quota usage", async () => {
  const { grid, tell, browser, path } = world
  await tell(grid.alice, 'bob', 'one')

  expect((await browser.open(path('overview'))).at).toBe(home)
  expect((await browser.open(path('settings', 'account', 'usage'))).text).toMatch(
    /Usage today .*Messages 1 of 200,000 messages Size 1 of 1,000 MB/,
  )
})

test('Home lists decisions that expire first at the top, and groups equal messages in one row', async () => {
  const { grid, tell, path } = world
  const owner = await signedInByEmail(grid, 'ann@acme.example')
  await hold(grid.acme.store, { name: 'Money', expiresMs: 24 * hour })
  for (const text of ['Refund 4411?', 'Pay Contoso', 'Refund 4411?', 'Refund 4411?']) {
    await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text })
  }
  await grid.acme.store.write([{
    sql: 'UPDATE approval_rules SET expires_ms = ? WHERE account_id = ?',
    args: [52 * 60_000, grid.acme.id],
  }])
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'Ship now?' })
  await tell(grid.bob, 'alice', 'held, too').catch(() => {})

  const { text, html } = await owner.open(home)
  expect(text).toMatch(
    /6 decisions , first in 5\d min Waiting for your decision All 6 @alice .*: Ship now\? .*: held, too .*: Refund 4411\? 3 like this .*: Pay Contoso/,
  )
  expect(html).toContain('<li class="urgent">')
  const first = html.match(/href="([^"]*\/held\/[^"]*)">(?:(?!<\/a>).)*Refund/s)![1]
  await owner.submit(first, {}, `${first}/approve`)
  expect((await owner.open(home)).text).toMatch(/5 decisions .*Refund 4411\? 2 like this/)
  // The complete list also shows each of the grouped messages.
  expect((await owner.open(path('held'))).html.match(/\/held\/[^"]{36}">(?:(?!<\/a>).)*Refund 4411/gs)).toHaveLength(2)
})

test('the counts on Home match Attention, and add up to the number in the navigation', async () => {
  const { grid, tell, browser, path } = world
  await hold(grid.acme.store, { name: 'Money', deciders: [world.ann.person.id] })
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'Pay?' })
  await grid.acme.store.write([{
    sql: 'UPDATE approval_rules SET enabled = 0 WHERE account_id = ?',
    args: [grid.acme.id],
  }])
  await tell(grid.alice, 'ann', 'deploy now?')
  await tell(grid.alice, 'bob', 'hello')
  grid.clock.now += 2 * hour
  await pausedConversation(grid.acme.store, ['alice', 'ann'])

  const parts = /1 decision , in 2\d h 1 answer 1 broken 1 warning /
  expect((await browser.open(home)).text).toMatch(parts)
  expect((await browser.open(path('attention'))).text).toMatch(
    /Attention 4 open .*All 4 Decisions 1 Answers 1 Broken 1 Warnings 1 /,
  )
})

test.each(roles)('every row on Home and Attention links an %s to a page that they may read', async (role) => {
  const { grid, tell, path } = world
  const one = await signedInMember(grid, grid.acme, role)
  await tell(grid.alice, 'bob', 'hello')
  await followLog(grid.store)
  const task = await askFor(storeOf(grid, grid.alice), 'Build it')
  await updateTask(storeOf(grid, grid.bob), { taskId: task.id, state: 'failed', text: 'No SDK' })
  await followLog(grid.store)
  grid.clock.now += 2 * hour
  await pausedConversation(grid.acme.store, ['alice', 'bob'])
  await grid.acme.store.write([grid.acme.store.change.leases.parkUnread(grid.bob.id, grid.clock.now)])

  let links = 0
  for (const page of [home, path('attention')]) {
    const { html, text } = await one.open(page)
    for (const [, href] of html.matchAll(/<a class="open" href="([^"#]+)/g)) {
      const opened = await one.open(href.replaceAll('&amp;', '&'))
      expect([href, opened.status]).toEqual([href, 200])
      if (!href.includes('/agents/')) expect(opened.text).not.toContain('You see numbers only')
      links++
    }
    const mayRead = role === 'owner' || role === 'admin'
    expect([html.includes('/messages/'), text.includes('is paused')]).toEqual([mayRead, mayRead])
    expect(text).not.toContain('Hidden for your role')
    // The count in the navigation is the number of rows that the visitor may open.
    const rows = [...html.matchAll(/<a class="open"/g)].length
    const isNews = [...html.matchAll(/class="dot"/g)].length
    expect([role, Number(html.match(/data-count[^>]*>(\d+)/)![1])]).toEqual([role, rows - isNews])
    expect(html.includes('class="dot"')).toBe(mayRead && page === home)
  }
  expect(links).toBeGreaterThan(1)
})

test('earlier messages are not new for a new member', async () => {
  const { grid, tell } = world
  await tell(grid.alice, 'bob', 'long before')
  grid.clock.now += 60_000
  const admin = await signedInMember(grid, grid.acme, 'admin')
  expect((await admin.open(home)).text).not.toContain('Since you were here')
  await tell(grid.bob, 'alice', 'now')
  expect((await admin.open(home)).text).toMatch(/Since you were here .*1 new/)
})
