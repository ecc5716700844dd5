/** Search by people. See docs/people.md, "People who read". */
import { beforeEach, describe, expect, test } from 'vitest'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createChannel, setChannelMembers } from '../../src/grid/channels/channels.ts'
import { readableTimes, readerOf } from '../../src/grid/conversations/may-read.ts'
import { day, minute } from '../../src/lib/time.ts'
import { followLog } from '../../src/worker/followers.ts'
import { rows } from '../support/database.ts'
import type { Browser } from '../support/browse.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { guard, secret, testProviders } from '../support/guarded.ts'
import { sendMessage } from '../support/messaging.ts'
import { type PersonWithAlias, personWithAlias } from '../support/person-aliases.ts'
import { person, signedIn } from '../support/people.ts'

let grid: TestGrid
let ann: PersonWithAlias
let browser: Browser
beforeEach(async () => {
  grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks })
  ann = await personWithAlias(grid, 'ann', { name: 'Ann' })
  browser = await signedIn(grid, ann.person)
})

const say = (from: TestAgent, to: string, text: string) => sendMessage(storeOf(grid, from), { to, text })

/** Returns the hits' texts, and the heading above them. */
async function search(query: string, by?: Browser) {
  // Signs in again, because some tests advance the clock, which ends sessions.
  by ??= await signedIn(grid, ann.person)
  await followLog(grid.store)
  const { html } = await by.open(`/accounts/${grid.acme.id}/search?${query}`)
  const plain = (text: string) => text.replace(/<[^>]*>/g, '')
  return {
    html,
    total: plain(/id="found"[^>]*>(.*?)<\/h2>/s.exec(html)?.[1] ?? ''),
    texts: [...html.matchAll(/class="excerpt"[^>]*>(.*?)<\/span>/gs)].map(([, text]) => plain(text)),
  }
}

const readings = () =>
  rows(grid, "SELECT tool FROM activity WHERE account_id = ? AND tool LIKE 'read%'", [grid.acme.id])

test("a member's search finds only messages to or from them, without a count of the others", async () => {
  await say(grid.alice, 'bob', 'the deployment between others')
  await say(grid.alice, 'ann', 'the deployment for ann')

  const { texts, total, html } = await search('q=deploy')
  expect(texts).toEqual(['the deployment for ann'])
  expect(total).toContain('1 message')
  expect(html).toContain('<mark>deployment</mark>')
  expect(await readings()).toEqual([])
})

test('a hit in a Markdown table is shown as one line of plain text', async () => {
  await say(grid.alice, 'ann', '## Builds\n\n| Part | State |\n| --- | --- |\n| shop | **deployed** |')

  expect((await search('q=deployed')).texts).toEqual(['Builds Part State shop deployed'])
})

test("an owner's search finds agents' messages since reading was enabled, and is recorded as reading", async () => {
  await say(grid.alice, 'bob', 'an early deployment')
  grid.clock.now += day
  await rows(grid, 'UPDATE accounts SET people_read_since = ? WHERE id = ?', [grid.clock.now, grid.acme.id])
  await say(grid.alice, 'bob', 'a late deployment')
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
  const stranger = await person(grid, { role: 'owner', account: grid.evil })

  expect(await search('q=deploy', owner)).toMatchObject({ texts: ['a late deployment'] })
  expect(await readings()).toHaveLength(1)
  const { html } = await (await signedIn(grid, stranger)).open(`/accounts/${grid.evil.id}/search?q=deploy`)
  expect(html).toContain('No messages found')
})

test("a member's search finds posts since the day they joined", async () => {
  const { channel } = await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  await say(grid.alice, '#ops', 'deployment before')
  grid.clock.now += day
  await setChannelMembers(grid.acme.store, { channel: channel.id, members: ['alice', 'bob', 'ann'] })
  await say(grid.alice, '#ops', 'deployment after')

  expect((await search('q=deploy+in:%23ops')).texts).toEqual(['deployment after'])
})

test("a viewer's search finds agents, but no messages", async () => {
  await say(grid.alice, 'bob', 'alice was deployed')
  const viewer = await signedIn(grid, await person(grid, { role: 'viewer' }))

  const { texts, html } = await search('q=alice', viewer)
  expect(texts).toEqual([])
  expect(html).toContain(`/agents/alice"`)
})

test('search filters can be typed or set in fields, with the same result', async () => {
  await say(grid.alice, 'ann', 'word one')
  grid.clock.now += 2 * day
  await say(grid.bob, 'ann', 'word two https://x.example')
  await sendMessage(storeOf(grid, grid.alice), {
    to: 'ann',
    text: 'word three',
    a2a: { messageId: 'm', parts: [{ raw: btoa('x'), filename: 'a.txt' }] },
  })
  await markAllRead()
  await say(grid.alice, 'ann', 'word four')
  const found = async (query: string) => (await search(query)).texts.map((text) => text.split(' ')[1])

  expect(await found('q=word')).toEqual(['four', 'three', 'two', 'one'])
  expect(await found('q=word&from=bob')).toEqual(['two'])
  expect(await found('q=from:@bob word')).toEqual(['two'])
  expect(await found('to=ann&before=2026-11-22')).toEqual(['one'])
  expect(await found('q=after:2026-11-22')).toEqual(['four', 'three', 'two'])
  expect(await found('q=word&has=link')).toEqual(['two'])
  expect(await found('q=has:file')).toEqual(['three'])
  expect(await found('q=word is:unread')).toEqual(['four'])

  async function markAllRead() {
    await rows(grid, "UPDATE deliveries SET state = 'read' WHERE account_id = ?", [grid.acme.id])
  }
})

test("search does not find text that a guardrail removed from another account's message", async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ? AND alias = 'bob'", [grid.acme.id])
  await rows(grid, 'UPDATE accounts SET people_read_since = 0 WHERE id = ?', [grid.acme.id])
  await say(grid.eve, 'bob', `the password is ${secret}`)
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))

  expect((await search('q=password', owner)).texts).toHaveLength(1)
  expect((await search(`q=${secret}`, owner)).texts).toEqual([])
})

describe("a post that @ann's guardrail redacted", () => {
  beforeEach(async () => {
    await guard(grid.acme, 'ann', { direction: 'inbound', action: 'redact' })
    await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob', 'ann'] })
    await say(grid.alice, '#ops', `the login is ${secret} https://${secret}.example`)
  })

  test('a member finds and reads a redacted post in their own version, on every page', async () => {
    const { texts, html } = await search('q=login')
    expect(texts).toEqual(['the login is [redacted] https://[redacted].example'])
    const [, message] = /href="([^"]*\/conversations\/[^"]*)"/.exec(html)!
    const [, thread] = /(\/conversations\/\d+)/.exec(message)!
    const pages = [
      '/conversations',
      '/conversations?show=channels',
      thread,
      `${thread}/export?as=md`,
      `${thread}/export?as=json`,
    ]
    const shown = await Promise.all(pages.map(async (path) => {
      return (await browser.open(`/accounts/${grid.acme.id}${path}`)).html
    }))
    for (const [n, text] of shown.entries()) expect(text, pages[n]).toContain('the login is')
    expect(shown.join()).not.toContain(secret)
  })

  test('a member does not find a redacted post by its hidden words, and others do', async () => {
    // If a search included hidden words, guessing one would produce a hit.
    await say(grid.bob, 'ann', 'swordfi swordfq swordfx')
    const answers = await Promise.all(['swordfi', 'swordfq', 'swordfx'].map(async (guess) => {
      const { texts, total, html } = await search(`q=${guess}`)
      return { texts, total, hasMore: html.includes('older=') }
    }))
    expect(answers).toEqual([answers[0], answers[0], answers[0]])
    expect(answers[0]).toMatchObject({ texts: ['swordfi swordfq swordfx'] })
    expect((await search(`q=${secret}+login`)).texts).toEqual([])
    const before = (await search(`q=${secret}`)).total
    await say(grid.alice, '#ops', `once more ${secret}`)
    expect((await search(`q=${secret}`)).total).toBe(before)
    expect((await search('q=in:ops has:link')).texts).toHaveLength(1)

    const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
    await rows(grid, 'UPDATE accounts SET people_read_since = 0 WHERE id = ?', [grid.acme.id])
    expect((await search(`q=${secret}+login`, owner)).texts).toHaveLength(1)
  })
})

test('posts from before a member joined never count as hits, however many there are', async () => {
  const { channel } = await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  await say(grid.alice, 'ann', 'an older deployment')
  for (let n = 0; n < 40; n++) await say(grid.alice, '#ops', 'deployment before')
  await followLog(grid.store)
  grid.clock.now += day
  await setChannelMembers(grid.acme.store, { channel: channel.id, members: ['alice', 'bob', 'ann'] })
  await say(grid.alice, '#ops', 'deployment after')
  await followLog(grid.store)
  const reader = await readerOf(ann.account)
  const terms = { words: ['deploy'], within: undefined }
  const range = { after: 0, before: 1_000_000, from: 0, until: 1e15, limit: 3 }

  const found = await ann.account.read.search.places(terms, readableTimes(reader), range)

  // A search with a limit of 3 returns only readable hits, and hidden ones do not count.
  expect(found).toHaveLength(2)
  expect((await search('q=deploy')).texts).toEqual(['deployment after', 'an older deployment'])
})

test('search finds a message from another account only in the delivered version', async () => {
  await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ? AND alias = 'bob'", [grid.acme.id])
  await rows(grid, 'UPDATE accounts SET people_read_since = 0 WHERE id = ?', [grid.acme.id])
  const { id } = await say(grid.eve, 'bob', `the login is ${secret}`)
  await rows(
    grid,
    "UPDATE deliveries SET body = 'the login is gone' WHERE seq IN (SELECT seq FROM v_deliveries WHERE message_id = ?) AND account_id = ?",
    [
      id,
      grid.acme.id,
    ],
  )
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))

  expect((await search(`q=${secret}`, owner)).texts).toEqual([])
})

test('search finds a message by its day, even if the clock is set back before the next message', async () => {
  const midnight = Math.ceil(grid.clock.now / day) * day
  for (const minutes of [2, -1, 10]) {
    grid.clock.now = midnight + minutes * minute
    await say(grid.alice, 'ann', `deployment at ${minutes}`)
  }

  const date = new Date(midnight).toISOString().slice(0, 10)
  expect((await search(`q=deploy+after:${date}`)).texts).toEqual(['deployment at 10', 'deployment at 2'])
  expect((await search(`q=deploy+before:${date}`)).texts).toEqual(['deployment at -1'])
})

test('the search page says when the index is being rebuilt', async () => {
  await say(grid.alice, 'ann', 'the deployment')
  const note = 'The newest messages are not found yet'
  expect((await search('q=deploy')).html).not.toContain(note)

  await rows(grid, "UPDATE projections SET seq = seq - 2000 WHERE name = 'search'")

  expect((await browser.open(`/accounts/${grid.acme.id}/search?q=deploy`)).html).toContain(note)
})

test("search finds a message by its file's name", async () => {
  await sendMessage(storeOf(grid, grid.alice), {
    ...{ to: 'ann', text: 'as agreed' },
    parts: [{ filename: 'Offer-2026.pdf', mediaType: 'application/pdf', raw: btoa('%PDF') }],
  })
  const { html, texts } = await search('q=offer-2026.pdf')
  expect(texts).toEqual(['Offer-2026.pdf: as agreed'])
  expect(html).toContain('<mark>Offer</mark>')
  expect((await search('q=agreed+pdf&has=file')).texts).toEqual(['as agreed'])
})

test('search hits are shown in pages', async () => {
  for (let n = 0; n < 23; n++) await say(grid.alice, 'ann', `word ${n}`)
  const first = await search('q=word')
  const [, older] = /older=(\d+)/.exec(first.html)!

  expect(first.texts[0]).toBe('word 22')
  expect(first.total).toContain('23 messages')
  expect((await search(`q=word&older=${older}`)).texts).toEqual(['word 2', 'word 1', 'word 0'])
})

test('the last entry of the search dialog is the message search, and the dialog reads no messages', async () => {
  await createChannel(grid.acme.store, { name: 'al-ops', members: ['alice'] })
  const { html } = await browser.open(`/accounts/${grid.acme.id}/jump?q=al`)

  expect(html).toMatch(/channels\/.*agents\/alice".*search\?q=al"/s)
  expect(await readings()).toEqual([])
})

describe('entries of the search dialog', () => {
  /** Returns the names listed in the dialog, in their order. */
  async function places(text: string, by = browser): Promise<string[]> {
    const { html } = await by.open(`/accounts/${grid.acme.id}/jump?q=${encodeURIComponent(text)}`)
    return [...html.matchAll(/<li><a href="[^"]*"[^>]*><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name)
  }

  test('the search dialog ranks name prefixes before other positions in a name, and descriptions last', async () => {
    await createAgent(grid.acme.store, { alias: 'ops', description: 'research and operations' })
    await createAgent(grid.acme.store, { alias: 'old-res', description: '' })
    await createAgent(grid.acme.store, { alias: 'researcher', description: '' })

    expect((await places('res')).filter((name) => name.startsWith('@'))).toEqual(['@researcher', '@old-res', '@ops'])
  })

  test('a prefix character in the search dialog selects the kind', async () => {
    await createChannel(grid.acme.store, { name: 'alice-news', members: [] })

    expect(await places('#ali')).toEqual(['#alice-news'])
    expect(await places('@ali')).toEqual(['@alice'])
  })

  test('the search dialog lists the conversation of two aliases first, for permitted readers', async () => {
    const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
    const talk = (one: string) => `Conversation of @alice and @${one}`
    const other = await grid.acme.agent('bobby')
    for (const to of ['bob', 'ann', 'bobby']) await say(grid.alice, to, 'hello')
    await say(other, 'bob', 'not of alice')
    await followLog(grid.store)

    expect((await places('@alice @bob', owner)).slice(0, 2)).toEqual([talk('bob'), talk('bobby')])
    expect((await places('@ann @ali', owner))[0]).toBe(talk('ann'))
    expect(await places('@ann @alice')).toEqual([talk('ann')])
    expect(await places('@alice @bob')).toEqual([])
    expect(await readings()).toEqual([])
  })

  test.each([
    ['invite', 'Invite'],
    ['2fa', 'Settings, Security'],
    ['sso', 'Single sign-on'],
    ['loops', 'Conversation limits'],
    ['admin keys', 'Admin access'],
    ['agent new', 'New agent'],
    ['rotate ali', 'Rotate key of @alice'],
    ['write bob', 'Write to @bob'],
    ['replace key', 'Rotate a key'],
    ['who is stuck', 'What is broken'],
  ])('for %s, the search dialog first finds %s', async (text, name) => {
    const owner = await signedIn(grid, await person(grid, { role: 'owner' }))

    expect((await places(text, owner))[0]).toBe(name)
  })

  test('the search dialog offers a viewer no action and no member', async () => {
    const viewer = await signedIn(grid, await person(grid, { role: 'viewer' }))

    for (const text of ['invite', 'rotate ali', 'write bob', 'webhook', 'sso', 'admin keys', 'ann@acme.example']) {
      expect(await places(text, viewer)).toEqual([])
    }
    expect(await places('alice', viewer)).toEqual(['@alice'])
  })

  test('the search dialog finds nothing from another account', async () => {
    const eve = await signedIn(grid, await person(grid, { role: 'owner', account: grid.evil }))
    const { html } = await eve.open(`/accounts/${grid.evil.id}/jump?q=alice`)

    expect(html).not.toContain('@alice')
  })
})
