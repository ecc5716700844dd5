/** Conversation pages: what each role can read, paging in both directions, new messages, and message states. */
import { beforeAll, describe, expect, test } from 'vitest'
import { setPeopleRead } from '../../../src/grid/accounts/people-read.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import type { Browser } from '../../support/browse.ts'
import { say } from '../../support/conversations.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { signedIn, signedInMember } from '../../support/people.ts'
import { member, type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let alice: AccountStore
let bob: AccountStore
let ann: PersonWithAlias
let anns: Browser
let base: string
let pair: number
let posts: number
let mine: number
const threadOf = async ({ seq }: { seq: number }) =>
  (await grid.acme.store.read.threadMessages.bySeqs([seq]))[0].threadId
beforeAll(async () => {
  grid = await testGrid({ env: { MESSAGES_PER_DAY: '0' } })
  base = `/accounts/${grid.acme.id}`
  alice = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
  ann = await personWithAlias(grid, 'ann', { role: 'member' })
  anns = await signedIn(grid, ann.person)
  await createChannel(grid.acme.store, { name: 'team', members: ['alice', 'bob'] })
  pair = await threadOf(await say(grid, alice, '@bob', 'are the figures ready?'))
  posts = await threadOf(await say(grid, bob, '#team', 'the figures are late'))
  mine = await threadOf(await say(grid, alice, '@ann', 'shall I wait?'))
})

const page = async (one: Browser, path: string) => await one.open(base + path)
const texts = ['are the figures ready?', 'the figures are late', 'shall I wait?']

describe('access to conversations by role', () => {
  const cells: [who: string, open: () => Promise<Browser>, ...reads: string[][]][] = [
    ['an owner', () => signedInMember(grid, grid.acme, 'owner'), texts, texts],
    ['an admin', () => signedInMember(grid, grid.acme, 'admin'), texts, texts],
    ['a member', () => Promise.resolve(anns), [texts[2]], [texts[2]]],
    ['a viewer', () => signedInMember(grid, grid.acme, 'viewer'), [], []],
  ]

  test.each(cells)('%s sees only permitted messages, in lists and pages', async (_, open, listed, opened) => {
    const one = await open()
    const list = (await page(one, '/conversations')).text
    const found = await Promise.all(
      [pair, posts, mine].map(async (id) => (await page(one, `/conversations/${id}`)).text),
    )
    const fragments = await Promise.all(
      [pair, posts, mine].map((id) => page(one, `/conversations/${id}/messages?after=0`)),
    )
    const seqs = await rows(grid, 'SELECT seq FROM messages WHERE account_id = ? ORDER BY seq LIMIT 3', [grid.acme.id])
    const single = await Promise.all(seqs.map(({ seq }) => page(one, `/messages/${seq}`)))
    const chains = await Promise.all(seqs.map(({ seq }) => page(one, `/messages/${seq}/chain`)))

    expect(texts.filter((text) => list.includes(text))).toEqual(listed)
    expect(texts.filter((text, n) => found[n].includes(text))).toEqual(opened)
    for (const pages of [fragments, single, chains]) {
      expect(texts.filter((text, n) => pages[n].text.includes(text))).toEqual(opened)
      expect(pages.map(({ status }) => status)).toEqual(texts.map((text) => opened.includes(text) ? 200 : 403))
    }
    for (const [n, text] of found.entries()) {
      expect(text.includes('You see numbers only')).toBe(!opened.includes(texts[n]))
    }
  })

  test("while reading is off, people cannot read agents' messages, and turning it on shows only new ones", async () => {
    const { account, person } = await member(grid, { role: 'owner' })
    const owner = await signedIn(grid, person)
    await setPeopleRead(account, { choice: 'off' })
    expect((await page(owner, '/conversations')).text).not.toContain(texts[0])
    expect((await page(owner, `/conversations/${pair}`)).text).toContain('Nobody can read what agents')

    grid.clock.now += minute
    await setPeopleRead(account, { choice: 'on' })
    expect((await page(owner, `/conversations/${pair}`)).text).toContain('There are no messages that you can read here')
    await say(grid, bob, '@alice', 'they are ready now')
    const { text } = await page(owner, `/conversations/${pair}`)
    expect(text).toContain('they are ready now')
    expect(text).toContain('are not shown: reading was turned on then')
    expect(text).not.toContain(texts[0])
    await setPeopleRead(account, { choice: 'older' })
  })

  test("a member's list omits conversations of which the member can only see numbers", async () => {
    for (const query of ['', '?show=you', '?show=channels', '?show=waiting']) {
      const { html } = await page(anns, `/conversations${query}`)
      const rows = html.match(/<ul class="threads">[^]*?<\/ul>/)?.[0] ?? ''
      const ids = [...rows.matchAll(/conversations\/(\d+)/g)].map(([, id]) => Number(id))

      expect(ids, query).toEqual(query === '?show=channels' ? [] : [mine])
    }
  })

  test('in a conversation with an id, a member sees only their own messages', async () => {
    const conversationId = 'order-1'
    const shared = await threadOf(await say(grid, alice, '@bob', 'between us', { conversationId }))
    await say(grid, alice, '@ann', 'for you', { conversationId })
    await say(grid, bob, '@alice', 'between us again', { conversationId })

    const { text } = await page(anns, `/conversations/${shared}?show=you`)
    expect(text).toContain('for you')
    expect(text).toContain('2 messages of this page between others')
    expect(text).not.toContain('between us')
    expect((await page(anns, '/conversations?show=you')).text).not.toContain('between us')
  })

  test("an open page gets the member's next message even after many messages between others", async () => {
    const conversationId = 'order-2'
    const first = await say(grid, alice, '@ann', 'for you', { conversationId })
    for (let n = 0; n < 60; n++) await sendMessage(alice, { to: '@bob', text: `between us ${n}`, conversationId })
    await say(grid, alice, '@ann', 'for you again', { conversationId })

    const following = `/conversations/${await threadOf(first)}/messages?after=${first.seq}`
    const { text } = await page(anns, following)
    expect(text).toContain('for you again')
    expect(text).not.toContain('between us')
  })

  test('people of another account cannot open a conversation', async () => {
    const eve = await signedInMember(grid, grid.evil, 'owner')
    const [{ seq, id }] = await rows(grid, 'SELECT seq, id FROM messages WHERE account_id = ? LIMIT 1', [grid.acme.id])
    const evil = `/accounts/${grid.evil.id}`
    for (const path of [`/conversations/${pair}`, `/conversations/${pair}/messages?after=0`, `/messages/${seq}`]) {
      expect((await eve.open(evil + path)).status).toBe(404)
      expect((await eve.open(base + path)).status).toBe(404)
    }
    for (const path of [`/messages/${id}`, `/messages/${id}/chain`, `/messages/${id}/parts/0`]) {
      expect((await eve.open(evil + path)).status).toBe(404)
    }
  })
})

const states = async () =>
  await rows(
    grid,
    'SELECT message_id, state, lease_id, read_at, woken_at FROM v_deliveries WHERE account_id = ? ORDER BY seq',
    [
      grid.acme.id,
    ],
  )

test('reading conversations is recorded without any text, and changes no message states', async () => {
  const before = await states()
  const { person } = await member(grid, { role: 'admin' })
  const admin = await signedIn(grid, person)
  for (const path of ['/conversations', `/conversations/${pair}`, `/conversations/${pair}`, `/conversations/${mine}`]) {
    await page(admin, path)
  }

  const read = await rows(
    grid,
    'SELECT tool, arguments FROM activity WHERE account_id = ? AND user_id = ? ORDER BY n',
    [grid.acme.id, person.id],
  )
  // The admin opened the list with the conversation next to it, and then two conversations, one of them twice.
  expect(read.map(({ tool }) => tool).sort()).toEqual([...Array(3).fill('read_conversation'), 'read_conversations'])
  for (const text of texts) expect(JSON.stringify(read)).not.toContain(text)
  expect(await states()).toEqual(before)
})

test('reading messages addressed to oneself is not recorded, and does not mark them as read', async () => {
  const { html } = await page(anns, `/conversations/${mine}`)
  expect(html).toContain('<li class="day new" id="new">New</li>')
  expect(await page(anns, '/conversations?show=you')).toMatchObject({ text: expect.stringMatching(/You\s+\d unread/) })
  const recorded = await rows(
    grid,
    "SELECT tool FROM activity WHERE account_id = ? AND user_id = ? AND tool LIKE 'read_%'",
    [
      grid.acme.id,
      ann.person.id,
    ],
  )
  expect(recorded).toEqual([])
})

describe('a long conversation', () => {
  let long: number
  const seqs: number[] = []
  const numbers = (html: string) => [...html.matchAll(/<p dir="auto">n(\d+)</g)].map(([, n]) => Number(n))
  let owner: Browser
  beforeAll(async () => {
    owner = await signedInMember(grid, grid.acme, 'owner')
    for (let n = 0; n < 120; n++) {
      grid.clock.now += minute
      const said = await say(grid, alice, '@bob', `n${n}`, { conversationId: 'long' })
      seqs.push(said.seq)
      long ??= await threadOf(said)
    }
  })
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)

  test('a conversation has pages of 50 messages that link in both directions, without script', async () => {
    const newest = await page(owner, `/conversations/${long}`)
    expect(numbers(newest.html)).toEqual(range(70, 120))
    const link = (html: string, title: string) =>
      html.match(new RegExp(`href="([^"]+)">${title}<`))![1].replaceAll('&amp;', '&')
    const older = await owner.open(link(newest.html, 'Older messages'))
    expect(numbers(older.html)).toEqual(range(20, 70))
    const oldest = await owner.open(link(older.html, 'Older messages'))
    expect(numbers(oldest.html)).toEqual(range(0, 20))
    expect(oldest.text).not.toContain('Older messages')
    expect(numbers((await owner.open(link(oldest.html, 'Newer messages'))).html)).toEqual(range(20, 70))
    expect(numbers((await owner.open(link(older.html, 'Newest messages'))).html)).toEqual(range(70, 120))
    expect(numbers((await page(owner, `/conversations/${long}?m=${seqs[60]}`)).html)).toEqual(range(35, 85))
  })

  test('a conversation can be opened at a given time, in UTC or in milliseconds', async () => {
    const [{ created_at: at }] = await rows(grid, 'SELECT created_at FROM messages WHERE account_id = ? AND seq = ?', [
      grid.acme.id,
      seqs[10],
    ])
    const minuteOf = new Date(Number(at)).toISOString().slice(0, 16)
    for (const given of [encodeURIComponent(minuteOf), String(at)]) {
      expect(numbers((await page(owner, `/conversations/${long}?at=${given}`)).html)).toEqual(range(10, 60))
    }
    expect(numbers((await page(owner, `/conversations/${long}?at=nonsense`)).html)).toEqual(range(70, 120))
    const later = grid.clock.now + 60 * minute
    expect(numbers((await page(owner, `/conversations/${long}?at=${later}`)).html)).toEqual(range(70, 120))
  })

  test('messages since the last visit are marked as new, and the list links to the first', async () => {
    const viewer = await signedInMember(grid, grid.acme, 'admin')
    await page(viewer, `/conversations/${long}?before=${seqs[60]}`)
    expect((await page(viewer, `/conversations/${long}`)).html).not.toContain('id="new"')
    const { seq } = await say(grid, alice, '@bob', 'n120', { conversationId: 'long' })
    expect((await page(viewer, '/conversations')).html).toContain(`/conversations/${long}#new"`)
    const again = await page(viewer, `/conversations/${long}`)
    expect(again.html).toMatch(new RegExp(`id="new">New</li><li id="m${seq}"`))
    expect((await page(viewer, `/conversations/${long}`)).html).not.toContain('id="new"')
    seqs.push(seq)
  })

  test('an open page gets only the items after a given message', async () => {
    const response = await owner.request(`${base}/conversations/${long}/messages?after=${seqs[118]}`)
    const html = await response.text()
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(numbers(html)).toEqual([119, 120])
    expect(html).toMatch(/^<li id="m\d+"[\s\S]*<\/li>$/)
    expect(html).not.toMatch(/<(html|main|use)\b/)
    expect((await owner.request(`${base}/conversations/${long}/messages`)).status).toBe(400)
  })
})

test('the list of conversations is filtered by name without script, and keeps the filter and the position', async () => {
  const names = async (query: string, one = anns) => {
    const { html } = await page(one, `/conversations?${query}`)
    return [/<ul class="threads".*?<\/ul>/s.exec(html)?.[0].replace(/<[^>]*>/g, '') ?? '', html]
  }
  const owner = await signedInMember(grid, grid.acme, 'owner')

  const [found, html] = await names('search=%23TEA', owner)
  expect(found).toContain('#team')
  expect(found).not.toContain('@alice')
  expect(html).toContain('show=channels&amp;search=%23TEA"')
  expect(html).toMatch(new RegExp(`conversations/${posts}\\?search=%23TEA`))
  expect((await names('search=bo', owner))[0]).toContain('@bob')
  expect((await names('show=channels&search=bo', owner))[1]).toContain('No conversations found')
  // Two names find the conversation between these agents.
  expect((await names('search=%40bo+ann', owner))[0]).toContain('@bob')
  expect((await names('search=bo+nobody', owner))[1]).toContain('No conversations found')
  // A search for a name does not reveal conversations that the reader cannot see.
  expect((await names('search=team'))[1]).toContain('No conversations found')
})
