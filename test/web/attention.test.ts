/** The Attention page. docs/web.md, "Attention". */
import { beforeEach, expect, test, vi } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import type { Browser } from '../support/browse.ts'
import { pausedConversation } from '../support/echoes.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { signedInByEmail, signedInMember } from '../support/people.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
let home: string
let page: string
let ann: Browser
beforeEach(async () => {
  grid = await testGrid()
  home = `/accounts/${grid.acme.id}`
  page = `${home}/attention`
  ann = await signedInByEmail(grid, 'ann@acme.example')
})

const send = () => callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hello' })
/** Returns the count in the navigation. */
const count = (html: string) => html.match(/class="side".*?Attention(?:<span class="count"[^>]*>(\d+\+?))?/s)?.[1]

test('Attention lists what needs a person, with filters by kind, and matches the number in the navigation', async () => {
  await send()
  grid.clock.now += 2 * hour
  await pausedConversation(grid.acme.store, ['alice', 'bob'])

  const { text, html } = await ann.open(page)
  expect(text).toMatch(
    /Broken The conversation of @alice and @bob is paused .* Resume .* Warnings @bob has not read for 2 h 1 waiting oldest/,
  )
  expect(text).toMatch(/All 2 Broken 1 Warnings 1/)
  expect(text).not.toContain('Decisions')
  expect(count(html)).toBe('2')

  const { text: waiting } = await ann.open(`${page}?show=warnings`)
  expect(waiting).toContain('has not read')
  expect(waiting).not.toContain('is paused')
  expect((await ann.open(`${page}?show=nothing`)).text).toContain('is paused')
  grid.clock.now += 10_000
  expect(count((await ann.open(`${home}/agents`)).html)).toBe('2')
})

test('Attention shows skipped rows and a stuck follower to owners, but not to members', async () => {
  const since = grid.clock.now - 2 * hour
  await send()
  const { messages } = await grid.store.global.pulses.read()
  const batch = { after: messages - 1, upTo: messages }
  await grid.store.write([
    grid.store.global.pulses.skip('search', batch, { from: 'messages', reason: 'a damaged row', at: since }),
  ])
  vi.spyOn(grid.store.loop, 'standing').mockReturnValue([{ follower: 'webhook events', since }])
  const member = await signedInMember(grid, grid.acme, 'member')

  const { text } = await ann.open(page)
  expect(text).toMatch(
    /Webhooks: stands still the log of the server says why .*Search: 1 message left out after errors/,
  )
  expect((await member.open(page)).text).not.toContain('left out')
})

test("a full inbox is red on Home, in Attention and on its agent's page, with the number of refused messages", async () => {
  grid = await testGrid({ env: { UNREAD_PER_INBOX: '5' } })
  home = `/accounts/${grid.acme.id}`
  ann = await signedInByEmail(grid, 'ann@acme.example')
  const pages = [`${home}/home`, `${home}/attention`]
  for (let n = 0; n < 4; n++) await send()

  for (const page of pages) {
    const { text, html } = await ann.open(page)
    expect(text).toMatch(/The inbox of @bob is 80 % full 4 of 5 unread messages then messages are refused/)
    expect(html).toContain('class="sign warning"')
  }
  const agent = await ann.open(`${home}/agents/bob`)
  expect(agent.text).toContain('Inbox 80 % full 4 of 5 unread')
  expect(agent.html).toContain('<span class="badge warning">80 % full')

  for (let n = 0; n < 3; n++) await send()
  await waitFor(
    'the count',
    async () => (await ann.open(`${home}/agents/bob`)).text.includes('2 messages refused today'),
  )
  for (const page of pages) {
    const { text, html } = await ann.open(page)
    expect(text).toMatch(/The inbox of @bob is full 5 of 5 unread messages 2 messages refused today/)
    expect(html).toContain('class="sign bad"')
  }
  const full = await ann.open(`${home}/agents/bob`)
  expect(full.text).toContain('Inbox full 5 of 5 unread, 2 messages refused today')
  expect(full.html).toContain('<span class="badge bad">full')
})

test('if an agent takes a pending alias, a permitted user can confirm or remove the alias with a button', async () => {
  const open = { visibility: 'public', accessPolicy: 'allow_list' } as const
  await grid.acme.agent('desk', { ...open, accessList: ['later', 'never'] })
  expect((await ann.open(`${home}/agents/desk/settings`)).text).toContain('Not let in yet: @later, @never')
  await grid.evil.agent('later')
  await grid.evil.agent('never')

  const old = await ann.open(page)
  const { text, html } = old
  expect(text).toMatch(/@later, on the access list of @desk, exists now: is it the one you meant\? .* Confirm Remove/)
  expect(count(html)).toBe('2')
  const list = `${home}/agents/desk/access`
  expect((await ann.submit(page, {}, `${list}/later/confirm`)).text).toMatch(/Confirmed\. .*@never/)
  expect((await ann.submit(page, {}, `${list}/never/remove`)).text).toMatch(/no longer on the access list.*All is well/)
  expect((await ann.open(`${home}/agents/desk/settings`)).text).not.toContain('Not let in yet')
  expect((await ann.open(`${home}/activity`)).text).toMatch(
    /Removed the alias @ ?never from the access list of @desk.*Confirmed the alias @ ?later on the access list of @desk/,
  )

  const { status, text: refused } = await ann.send(old, {}, `${list}/never/confirm`)
  expect([status, refused]).toEqual([400, expect.stringContaining('@never is no longer on the access list of @desk')])
})

test('buttons in Attention snooze a row and show it again', async () => {
  await send()
  grid.clock.now += 2 * hour
  const { html } = await ann.open(page)
  expect(html).toContain('For 1 hour')

  const after = await ann.submit(page, { time: 'hour' }, `${page}/snooze`)
  expect(after.text).toMatch(
    /Snoozed\. It comes back later.*All is well.*Snoozed: 1 .*@bob has not read for 2 h until/,
  )
  expect(count(after.html)).toBeUndefined()
  // The row is snoozed for this user only.
  const viewer = await signedInMember(grid, grid.acme, 'viewer')
  expect(count((await viewer.open(page)).html)).toBe('1')

  const again = await ann.submit(page, {}, `${page}/show-again`)
  expect(again.text).toContain('It is shown again.')
  expect(count(again.html)).toBe('1')

  await callTool(grid, grid.bob.key, 'read_messages', {})
  const gone = await ann.post(`${page}/snooze`, {
    ...{ csrf: again.html.match(/name="csrf" value="([^"]+)"/)![1], time: 'hour' },
    ...{ kind: 'unread', subject: grid.bob.id },
  })
  expect(gone.text).toContain('It no longer needs attention.')
})

test('Attention shows keys only to users who can replace them, and senders only to users who may read them', async () => {
  grid.clock.now += 40 * 24 * hour
  await send()
  grid.clock.now += 2 * hour
  const member = await signedInMember(grid, grid.acme, 'member')

  const [owners, members] = [
    await (await signedInByEmail(grid, 'ann@acme.example')).open(page),
    await member.open(page),
  ]

  expect(owners.text).toMatch(/The key …\w{4} of @bob was never used made /)
  expect(members.text).not.toMatch(/The key|Keys/)
  expect(owners.text).toContain('oldest from @alice')
  expect(members.text).toContain('@bob has not read for 2 h 1 waiting never seen')
  expect(members.text).not.toContain('oldest from')
})

test('the number in the navigation is cached per user for some seconds, and Attention recounts it', async () => {
  const admin = await signedInMember(grid, grid.acme, 'admin')
  await send()
  grid.clock.now += 2 * hour
  const seen = async (one: Browser) => count((await one.open(`${home}/agents`)).html)
  expect([await seen(ann), await seen(admin)]).toEqual(['1', '1'])

  await pausedConversation(grid.acme.store, ['alice', 'bob'])
  expect([await seen(ann), await seen(admin)]).toEqual(['1', '1'])
  await ann.open(page)
  expect([await seen(ann), await seen(admin)]).toEqual(['2', '1'])
  grid.clock.now += 10_000
  expect([await seen(ann), await seen(admin)]).toEqual(['2', '2'])
})

test('Attention folds three or more items of a kind into one row, with their number and a link from Home', async () => {
  const names = Array.from({ length: 52 }, (_, n) => `reader-${n}`)
  for (const alias of names) await grid.acme.agent(alias)
  const tell = async (aliases: string[]) => {
    for (const to of aliases) await callTool(grid, grid.alice.key, 'send_message', { to: `@${to}`, message: 'hello' })
    grid.clock.now += 2 * hour
  }
  await tell(names.slice(0, 2))
  expect((await ann.open(page)).text).toMatch(/Warnings 2 Warnings @reader-0 has not read .*@reader-1 has not read/)
  await tell(names.slice(2, 3))
  expect((await ann.open(page)).text).toMatch(
    /Warnings 3 Warnings 3 agents have not read for an hour or more @reader-0 ?, @reader-1 ?, @reader-2 @reader-0 has/,
  )
  await tell(names.slice(3))

  const atHome = await ann.open(`${home}/home`)
  expect(atHome.text).toMatch(/Attention 52 open .*52 warnings Warnings All 52 52 agents have not read .* and 49 more/)
  expect(atHome.html).toContain(`href="${page}?show=unread"`)
  const all = await ann.open(`${page}?show=unread`)
  expect(all.text).toMatch(/All 52 Warnings 52 Warnings @reader-0 has not read .* 50 of 52 are shown\./)
  expect(count(all.html)).toBe('52')
})

test('Attention counts refused calls, but not form errors', async () => {
  const skill = `${home}/skills/new`
  for (let n = 0; n < 4; n++) expect((await ann.submit(skill, { name: '', description: '' })).status).toBe(400)
  expect((await ann.open(page)).text).toContain('All is well.')

  const member = await signedInMember(grid, grid.acme, 'member')
  const { html } = await member.open(page)
  const fields = { csrf: html.match(/name="csrf" value="([^"]+)"/)![1], name: 'new', description: '' }
  for (let n = 0; n < 3; n++) expect((await member.post(skill, fields)).status).toBe(403)
  expect((await ann.open(page)).text).toMatch(/3 calls were refused browser session/)
})
