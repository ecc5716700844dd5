/** The tool `search_messages`. See docs/protocol/mcp.md, "search_messages". */
import { beforeEach, describe, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { searchMessages } from '../../src/grid/messaging/search-messages.ts'
import { retractMessage } from '../../src/grid/messaging/retract-message.ts'
import { hour, minute } from '../../src/lib/time.ts'
import { followLog } from '../../src/worker/followers.ts'
import { rows } from '../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { guard, secret, testProviders } from '../support/guarded.ts'
import { callTool } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks })
})

async function found(agent: TestAgent, query: string, more: object = {}): Promise<string[]> {
  await followLog(grid.store)
  const { text, message } = await callTool(grid, agent.key, 'search_messages', { query, ...more })
  if (message !== undefined) {
    throw new Error(message + grid.logs.filter((line) => line.includes('rror')).join().slice(0, 1500))
  }
  return text.map(({ text }: { text: string }) => text)
}

const say = (from: TestAgent, to: string, text: string) => sendMessage(storeOf(grid, from), { to, text })

test('the sender and the recipient of a message can find it by prefixes of its words, in any order', async () => {
  await say(grid.alice, 'bob', 'an older deployment')
  const { id } = await say(grid.alice, 'bob', `The Blue deployment ${'went wrong '.repeat(40)}`)
  await say(grid.bob, 'alice', 'which one?')

  expect(await found(grid.bob, 'deploy blue')).toHaveLength(1)
  expect(await found(grid.alice, 'deploy')).toHaveLength(2)
  const { text: [first] } = await callTool(grid, grid.bob.key, 'search_messages', { query: 'deploy' })
  expect(first).toMatchObject({ message_id: id, channel: 'direct', user: '@alice', timestamp: expect.any(String) })
  expect(first.text).toMatch(/^The Blue deployment went wrong .*…$/)
  expect(first.text.length).toBeLessThan(165)
})

test('search terms of one or two letters must match a complete word, and the result says so', async () => {
  await say(grid.alice, 'bob', 'deployed by team D')
  await say(grid.alice, 'bob', 'a decision of Ed')

  expect(await found(grid.bob, 'de')).toEqual([])
  expect(await found(grid.bob, 'ed')).toEqual(['a decision of Ed'])
  expect(await found(grid.bob, 'd deployed')).toEqual(['deployed by team D'])
  const { more } = await callTool(grid, grid.bob.key, 'search_messages', { query: 'dec ed' })
  expect(more?.note).toBe('Words of one or two letters must match completely.')
  expect((await callTool(grid, grid.bob.key, 'search_messages', { query: 'dec' })).more?.note).toBeUndefined()
})

test('agents cannot find messages between others, in their account or another', async () => {
  const carol = await grid.acme.agent('carol')
  await say(grid.alice, 'bob', 'a word for bob')

  expect(await found(carol, 'word')).toEqual([])
  expect(await found(grid.eve, 'word')).toEqual([])
})

test('a search finds unread messages, which stay unread', async () => {
  await say(grid.alice, 'bob', 'still unread')

  expect(await found(grid.bob, 'unread')).toEqual(['still unread'])
  expect((await readMessages(storeOf(grid, grid.bob), {})).messages).toHaveLength(1)
  expect(await found(grid.bob, 'unread')).toEqual(['still unread'])
})

test.each(['parked', 'expired', 'withdrawn', 'task'])(
  'only the sender can find a message that is %s',
  async (state) => {
    const { id } = await say(grid.alice, 'bob', 'a lost word')
    await rows(
      grid,
      'UPDATE deliveries SET state = ? WHERE seq IN (SELECT seq FROM v_deliveries WHERE message_id = ?) AND account_id = ?',
      [
        state,
        id,
        grid.acme.id,
      ],
    )

    expect(await found(grid.bob, 'lost')).toEqual([])
    expect(await found(grid.alice, 'lost')).toEqual(['a lost word'])
  },
)

test('a search does not find an expired message', async () => {
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'a short word', expiresInSeconds: 60 })
  expect(await found(grid.bob, 'short')).toHaveLength(1)

  grid.clock.now += 2 * minute
  expect(await found(grid.bob, 'short')).toEqual([])
})

test('the index contains no words of retracted or removed messages, whether or not these messages were already indexed', async () => {
  const store = storeOf(grid, grid.alice)
  const taken = await say(grid.alice, 'bob', 'a mistaken word')
  expect(await found(grid.alice, 'mistaken')).toHaveLength(1)
  const fresh = await say(grid.alice, 'bob', 'a mistaken word, too')
  for (const { id } of [taken, fresh]) await retractMessage(store, { agentId: grid.alice.id, alias: 'alice' }, id)

  expect(await found(grid.alice, 'mistaken')).toEqual([])
  const { id } = await say(grid.alice, 'bob', 'an old word')
  expect(await found(grid.alice, 'word')).toHaveLength(1)
  await store.write(store.change.retention.removeMessages([taken.id, fresh.id, id], 10))
  expect(await rows(grid, "SELECT rowid FROM message_search WHERE message_search MATCH 'wword'")).toEqual([])
  expect(await rows(grid, "SELECT rowid FROM message_search WHERE message_search MATCH 'wmistaken'")).toEqual([])
})

test('a recipient cannot find a message by text that a guardrail removed', async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  await say(grid.alice, 'bob', `the password is ${secret}`)

  expect(await found(grid.bob, secret)).toEqual([])
  expect(await found(grid.bob, 'password')).toHaveLength(1)
})

describe('a redacted post', () => {
  const key = 'zq7k3m'
  const alphabet = [...'abcdefghijklmnopqrstuvwxyz0123456789']

  beforeEach(async () => {
    await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact', config: { phrases: [key] } })
    await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  })

  async function answer(query: string, more: object = {}) {
    const { text, more: page } = await callTool(grid, grid.bob.key, 'search_messages', { query, ...more })
    return { texts: text.map(({ text }: { text: string }) => text), hasMore: page?.cursor !== undefined }
  }

  test("a search finds a redacted post by the words in the recipient's version", async () => {
    await say(grid.alice, '#ops', `the login is ${key} https://x.example`)

    expect(await found(grid.bob, 'login')).toEqual(['the login is [redacted] https://x.example'])
    expect(await found(grid.bob, `login ${key}`)).toEqual([])
    expect(await found(grid.alice, `login ${key}`)).toHaveLength(1)
  })

  test('a search for guesses of redacted text always has the same number of results', async () => {
    await say(grid.bob, 'alice', 'older mine')
    await say(grid.alice, '#ops', `the login is ${key}, mine`)
    // The decoys make each guess a hit, so that a second hit would produce a cursor.
    const decoys = [...key].flatMap((_, n) => alphabet.map((letter) => key.slice(0, n) + letter))
    await say(grid.bob, 'alice', decoys.join(' '))
    await followLog(grid.store)

    for (let n = 0; n < key.length; n += 2) {
      const known = key.slice(0, n)
      const guesses = alphabet.filter((_, at) => at % 5 === 0 || alphabet[at] === key[n]).map((letter) =>
        known + letter
      )
      for (
        const shape of [{}, { limit: 1 }, { from: '@alice' }, { to: '#ops' }, { from: '@alice', after: '1h', limit: 1 }]
      ) {
        const answers = await Promise.all(guesses.map(async (guess) => {
          const { texts, hasMore } = await answer(guess, shape)
          return `${texts.length} ${hasMore}`
        }))
        expect(new Set(answers).size, JSON.stringify([known, shape, guesses, answers])).toBe(1)
      }
      for (const guess of guesses) expect(await answer(`${guess} mine`)).toEqual({ texts: [], hasMore: false })
    }
  })
})

test("a sender cannot find out which words another account's guardrail removed", async () => {
  await grid.evil.agent('desk', { visibility: 'public' })
  await guard(grid.evil, 'desk', { direction: 'inbound', action: 'redact' })
  await say(grid.alice, 'desk', `the login is ${secret}`)
  await say(grid.alice, 'desk', 'the login is elsewhere')

  expect(await found(grid.alice, secret)).toEqual([])
  expect(await found(grid.alice, 'redacted')).toEqual([])
  expect(await found(grid.alice, 'login')).toEqual(['the login is elsewhere'])
})

test("a search does not find a recipient's redacted copy if its text is not indexed", async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  const members = ['bob', 'alice']
  for (let n = 0; n < 12; n++) {
    await grid.acme.agent(`member-${n}`)
    await guard(grid.acme, `member-${n}`, { direction: 'inbound', action: 'redact' })
    members.push(`member-${n}`)
  }
  await createChannel(grid.acme.store, { name: 'ops', members })
  const words = Array.from({ length: 1_800 }, (_, n) => `w${n}`).join(' ')
  await say(grid.alice, '#ops', `${words} ${secret}`)
  await followLog(grid.store)

  const sizes = await rows(grid, `SELECT count(*) AS n FROM message_search WHERE message_search MATCH 'ww1'`)
  expect(sizes).toEqual([{ n: 1 }])
  const hits = await Promise.all(members.map(async (alias) => {
    const agent = (await grid.acme.store.read.agents.byAlias(alias))!
    const store = grid.store.account(grid.acme.id, { type: 'agent', agentId: agent.id, alias, credentialId: 'c' })
    return (await searchMessages(store, { query: 'w1 w2' })).messages.length
  }))
  expect(hits.filter((n) => n === 0)).toHaveLength(2)
})

test('a message retracted during indexing is not indexed, and no words are indexed twice', async () => {
  const { conversations, pulses, searchIndex } = grid.store.global
  await followLog(grid.store)
  const { messages: after } = await pulses.read()
  const { id } = await say(grid.alice, 'bob', 'a fleeting word')
  await say(grid.alice, 'bob', 'a lasting word')
  const batch = { after, upTo: after + 2 }
  await grid.store.write([...conversations.place(batch), pulses.move('conversations', after, after + 2)])
  const texts = await searchIndex.texts(batch)
  await retractMessage(storeOf(grid, grid.alice), { agentId: grid.alice.id, alias: 'alice' }, id)
  const words = texts.map(({ seq, body }) => ({
    seq,
    words: body.split(' '),
    has: [],
    own: [],
    names: [],
    channelId: null,
  }))
  for (let i = 0; i < 2; i++) {
    await grid.store.write([searchIndex.add(words, after), pulses.move('search', after, after + 2)])
  }

  expect(await rows(grid, "SELECT rowid FROM message_search WHERE message_search MATCH 'wfleeting'")).toEqual([])
  expect(await found(grid.bob, 'word')).toEqual(['a lasting word'])
})

test.each(['{"parts":["x"]}', '{"parts":5}', '{"parts":null}', '{'])(
  'a long message with damaged details, %s, does not stop the indexing of later messages',
  async (a2a) => {
    const { id } = await say(grid.alice, 'bob', 'broken '.repeat(2_000))
    await rows(grid, 'UPDATE messages SET a2a = ? WHERE account_id = ? AND id = ?', [a2a, grid.acme.id, id])
    await say(grid.bob, 'alice', 'a later word')

    expect(await found(grid.alice, 'later')).toEqual(['a later word'])
    expect(await found(grid.alice, 'broken')).toHaveLength(1)
  },
)

test('members at the time of a post find it, and filters select by sender, recipient and time', async () => {
  const { channel } = await createChannel(grid.acme.store, { name: 'ops', description: '', members: ['alice', 'bob'] })
  await say(grid.alice, 'bob', 'word one')
  grid.clock.now += hour
  const middle = new Date(grid.clock.now - minute).toISOString()
  await say(grid.bob, `#${channel.name}`, 'word two')
  const carol = await grid.acme.agent('carol')

  expect(await found(grid.alice, 'word')).toEqual(['word two', 'word one'])
  expect(await found(carol, 'word')).toEqual([])
  expect(await found(grid.alice, 'word', { from: '@bob' })).toEqual(['word two'])
  expect(await found(grid.alice, 'word', { to: '#ops' })).toEqual(['word two'])
  expect(await found(grid.alice, 'word', { to: 'bob' })).toEqual(['word one'])
  expect(await found(grid.alice, 'word', { before: middle })).toEqual(['word one'])
  expect(await found(grid.alice, 'word', { after: '30m' })).toEqual(['word two'])
})

test('the time filters include `after` and exclude `before` across pages, even if a clock was behind', async () => {
  const begin = grid.clock.now
  for (const minutes of [0, 1, 2, 3, 4, 5, 2.5, 6]) {
    grid.clock.now = begin + minutes * minute
    await say(grid.alice, 'bob', `word ${minutes}`)
  }
  const at = (minutes: number) => new Date(begin + minutes * minute).toISOString()
  await followLog(grid.store)
  const search = async (more: object) =>
    await searchMessages(storeOf(grid, grid.bob), { query: 'word', after: at(1), before: at(4), limit: 2, ...more })

  const first = await search({})
  const second = await search({ cursor: first.cursor })
  expect([first, second].map(({ messages }) => messages.map(({ text }) => text))).toEqual([
    ['word 2.5', 'word 3'],
    ['word 2', 'word 1'],
  ])
  expect(second.cursor).toBeUndefined()
  expect(await found(grid.bob, 'word', { before: '4m' })).toEqual(['word 1', 'word 0'])
})

test('a search page has 10 results, or up to 50, and filters accept aliases in any form', async () => {
  for (let n = 0; n < 51; n++) await say(grid.alice, 'bob', `word ${n}`)
  expect(await found(grid.bob, 'word')).toHaveLength(10)
  expect(await found(grid.bob, 'word', { limit: 50, from: 'ALICE', to: '@Bob' })).toHaveLength(50)
  const { messages } = await searchMessages(storeOf(grid, grid.bob), { query: 'word', limit: 60 })
  expect(messages).toHaveLength(50)
})

test('a search for a single letter matches only a one-letter word', async () => {
  await say(grid.alice, 'bob', 'apples')
  await say(grid.alice, 'bob', 'plan A')

  expect(await found(grid.bob, 'a')).toEqual(['plan A'])
})

test('the pages of a search contain each result once, in order', async () => {
  for (let n = 0; n < 5; n++) await say(grid.alice, 'bob', `word ${n}`)
  await followLog(grid.store)
  const all: string[] = []
  let cursor: string | undefined
  do {
    const page = await callTool(grid, grid.bob.key, 'search_messages', {
      query: 'word',
      limit: 2,
      ...cursor && { cursor },
    })
    all.push(...page.text.map(({ text }: { text: string }) => text))
    cursor = page.more?.cursor
  } while (cursor !== undefined)

  expect(all).toEqual(['word 4', 'word 3', 'word 2', 'word 1', 'word 0'])
})

test.each([
  [{ query: '"' }, 'query needs a word.'],
  [{ query: 'x', after: 'yesterday' }, 'after accepts an ISO time, or a duration such as 2d.'],
  [{ query: 'x', cursor: '!' }, 'cursor must be a cursor that you were given, unchanged.'],
])('a search with %j is refused', async (args, message) => {
  const refused = await callTool(grid, grid.alice.key, 'search_messages', args)

  expect(refused).toMatchObject({ code: 'invalid_input', message: expect.stringContaining(message) })
})

test('no search query causes an index error', async () => {
  await say(grid.alice, 'bob', 'word AND OR NOT NEAR 𞤀𞤁 ½')

  for (
    const query of [
      'AND',
      'NOT word',
      'NEAR(word)',
      'a*',
      '"a',
      'meta:x',
      '𞤀',
      '½',
      '{x}:y',
      '^word',
      `${'a '.repeat(90)}`,
    ]
  ) {
    await expect(found(grid.alice, query)).resolves.toBeInstanceOf(Array)
  }
})
