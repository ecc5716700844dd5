import { afterEach, beforeEach, expect, test } from 'vitest'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { readAgain, readMessage } from '../../../src/grid/messaging/read-again.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { day, hour, minute } from '../../../src/lib/time.ts'
import { openStore } from '../../../src/store/store.ts'
import { wholeDump } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAgent, TestGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })
  afterEach(() => grid.close())

  test('since and peek change nothing in the database', async () => {
    await sendAll('one', 'two', 'three')
    const { cursor } = await readMessages(as(grid.bob), { limit: 2 })
    const look = (args: Record<string, unknown>) => callTool(grid, grid.bob.key, 'read_messages', args)
    // Any use of a key is recorded once a minute.
    await look({ peek: true })
    await sendAll('commits the deferred writes')
    const before = await wholeDump(grid)

    for (const since of [undefined, 'last_batch', '1h', cursor]) {
      for (const args of [{ peek: true }, { peek: true, limit: 1, max_chars: 1 }, { peek: true, wait_seconds: 1 }]) {
        expect((await look({ ...args, since })).code).toBeUndefined()
      }
      await again({ since })
      await again({ since, limit: 1, maxChars: 1 })
    }
    await grid.store.write([])

    expect(await wholeDump(grid)).toBe(before)
    expect(texts(await readMessages(as(grid.bob), {}))).toEqual(['three', 'commits the deferred writes'])
  })

  test('a message that was only shown by a peek is still queued for its sender', async () => {
    const { id } = await sendMessage(as(grid.alice), { to: 'bob', text: 'hi' })
    await again({})

    expect(await messageStatus(as(grid.alice), id)).toMatchObject({ delivery: 'queued', readBy: [] })
  })

  test('last_batch is the newest lease, replayed, and nothing before the first', async () => {
    await sendAll('one', 'two', 'three', 'four')
    const none = await again({ since: 'last_batch' })
    await readMessages(as(grid.bob), { limit: 1 })
    const { messages } = await readMessages(as(grid.bob), { limit: 2 })
    await readMessages(as(grid.eve), {})

    const page = await again({ since: 'last_batch' })

    expect([none.messages, none.hasMore]).toEqual([[], false])
    expect(page.messages).toEqual(messages.map((message) => ({ ...message, replayed: true })))
    expect(page.hasMore).toBe(false)
  })

  test('an empty read leaves last_batch as it was', async () => {
    await sendAll('one')
    await readMessages(as(grid.bob), {})
    await readMessages(as(grid.bob), {})

    expect(texts(await again({ since: 'last_batch' }))).toEqual(['one'])
  })

  test('a batch that was released and leased again behind a later one is the last', async () => {
    await sendAll('one', 'two')
    await readMessages(as(grid.bob), { limit: 1 })
    await readMessages(as(grid.bob), { limit: 1 })
    await release('one')
    await readMessages(as(grid.bob), { limit: 1 })

    expect(texts(await again({ since: 'last_batch' }))).toEqual(['one'])
  })

  test('the later of two leases is the last, also when the clock of its process is behind', async () => {
    await sendAll('one', 'two')
    const { lease } = await readMessages(as(grid.bob), { limit: 1 })
    await grid.store.write([{
      sql: "UPDATE deliveries SET lease_id = 'ffffffff' || lease_id WHERE account_id = ? AND lease_id = ?",
      args: [grid.acme.id, lease!.id],
    }])
    await readMessages(as(grid.bob), { limit: 1 })

    expect(texts(await again({ since: 'last_batch' }))).toEqual(['two'])
  })

  test('a batch that was leased again is the last among 1,000 messages, and not if 1,000 others follow it', async () => {
    await sendAll('released')
    await readMessages(as(grid.bob), {})
    await release('released')
    const { lease } = await readMessages(as(grid.bob), {})
    const [last] = await grid.store.write([{
      sql: "UPDATE deliveries SET lease_id = 'f' || lease_id WHERE account_id = ? AND lease_id = ? RETURNING lease_id",
      args: [grid.acme.id, lease!.id],
    }])

    await addRead(999)
    expect(await as(grid.bob).read.inbox.lastLease(grid.bob.id)).toBe(last[0].lease_id)
    await addRead(1)
    expect(await as(grid.bob).read.inbox.lastLease(grid.bob.id)).toBe('batch')
  })

  test('a peek shows what the next read leases, and its cursor looks further', async () => {
    await sendAll('one', 'two', 'three')

    const page = await again({ limit: 2 })
    const rest = await again({ since: page.cursor })

    expect([texts(page), page.hasMore]).toEqual([['one', 'two'], true])
    expect([texts(rest), rest.hasMore]).toEqual([['three'], false])
    expect(JSON.stringify([page, rest])).not.toContain('replayed')
    expect(texts(await readMessages(as(grid.bob), {}))).toEqual(['one', 'two', 'three'])
  })

  test('a cursor shows what was stored behind it: read messages are replayed, unread ones are not', async () => {
    await sendAll('one', 'two', 'three')
    const { cursor } = await readMessages(as(grid.bob), { limit: 1 })
    await readMessages(as(grid.bob), { limit: 1 })

    const page = await again({ since: cursor })

    expect(page.messages.map(({ message, replayed }) => [message, replayed])).toEqual([
      ['two', true],
      ['three', undefined],
    ])
  })

  test('a replay of 120 messages comes in pages, in the order of storing, each message once', async () => {
    const sent = Array.from({ length: 120 }, (_, n) => `${n}`)
    await sendAll(...sent)
    for (const limit of [50, 7]) await readMessages(as(grid.bob), { limit })

    let page = await again({ since: '1h' })
    const seen = texts(page)
    for (; page.hasMore; seen.push(...texts(page))) page = await again({ since: page.cursor })

    expect(seen).toEqual(sent)
    expect(await again({ since: page.cursor })).toEqual({ messages: [], hasMore: false, cursor: page.cursor })
  })

  test('a duration selects by the time of storing and keeps the order of storing', async () => {
    const start = grid.clock.now
    await sendAll('too old')
    grid.clock.now = start + 1
    await sendAll('just in')
    // Set back by less than the 5 minutes that clocks of processes may differ.
    grid.clock.now = start - 4 * minute
    await sendAll('stored later with an earlier time')
    grid.clock.now = start + 2
    await sendAll('newest')
    await readMessages(as(grid.bob), { limit: 2 })
    grid.clock.now = start + 1 + hour

    expect(texts(await again({ since: '1h' }))).toEqual(['just in', 'newest'])
    expect(texts(await again({ since: '60m' }))).toEqual(['just in', 'newest'])
    expect(texts(await again({ since: '1d' }))).toHaveLength(4)
    expect(texts(await again({ since: '1s' }))).toEqual([])
    // Also when all of them are read, so that the one with the earlier time lies between the others.
    await readMessages(as(grid.bob), {})
    expect(texts(await again({ since: '1h' }))).toEqual(['just in', 'newest'])
  })

  test('max_chars limits a batch to whole messages, and the rest comes later', async () => {
    await sendAll('12345', '1234', 'x', '12')

    const first = await readMessages(as(grid.bob), { maxChars: 9 })
    const rest = await readMessages(as(grid.bob), { maxChars: 9 })
    const replay = await again({ since: '1h', maxChars: 9 })

    expect([texts(first), first.remaining]).toEqual([['12345', '1234'], 2])
    expect([texts(rest), rest.remaining]).toEqual([['x', '12'], 0])
    expect([texts(replay), replay.hasMore]).toEqual([['12345', '1234'], true])
    expect(texts(await again({ since: replay.cursor }))).toEqual(['x', '12'])
  })

  test('a message longer than max_chars is leased alone and shortened, and what is behind it comes next', async () => {
    await sendAll('x'.repeat(10_000), 'short')

    const peeked = await again({ maxChars: 9_999 })
    const taken = await readMessages(as(grid.bob), { maxChars: 9_999 })
    const next = await readMessages(as(grid.bob), { maxChars: 1 })
    const rest = await readMessage(as(grid.bob), taken.messages[0].message_id, { offset: 9_999 })

    expect(texts(peeked)).toEqual(['x'.repeat(9_999)])
    expect([texts(taken), taken.remaining]).toEqual([['x'.repeat(9_999)], 1])
    expect(taken.messages[0].shortened).toEqual({ length: 10_000, next_offset: 9_999 })
    expect(next.messages).toMatchObject([{ message: 's', shortened: { length: 5, next_offset: 1 } }])
    expect(rest.messages).toMatchObject([{ message: 'x', offset: 9_999, replayed: true }])
  })

  test.each(['', 'yesterday', '1w', '-1h', '1.5h', 'LAST_BATCH', '1 hrz', 'a.b.c', '1234567d'])(
    'since %j is refused',
    async (since) => {
      await expect(again({ since })).rejects.toMatchObject({ code: 'invalid_input', details: { field: 'since' } })
    },
  )

  test('a cursor of another agent, or one that was changed, is refused', async () => {
    await sendAll('one')
    const foreign = await readMessages(as(grid.alice), {})
    const { cursor } = await readMessages(as(grid.bob), {})

    for (const since of [foreign.cursor, cursor.replace(/\.(\w)/, '.z'), cursor.slice(0, -1), `${cursor}0`]) {
      await expect(again({ since })).rejects.toMatchObject({ code: 'invalid_input' })
    }
  })

  test('a cursor from before a restore is answered with cursor_expired and what to do', async () => {
    await sendAll('one')
    const { cursor } = await readMessages(as(grid.bob), {})
    await grid.store.write([{ sql: "UPDATE store_facts SET value = 'abcdef01' WHERE key = 'epoch'", args: [] }])
    await grid.store.close()
    const restored = await openStore(grid.deps)

    const expired = readAgain(as(grid.bob, restored), { since: cursor })
    await expect(expired).rejects.toMatchObject({
      code: 'cursor_expired',
      message: expect.stringContaining('since: "24h"'),
    })
    expect(texts(await readAgain(as(grid.bob, restored), { since: '24h' }))).toEqual(['one'])
    await restored.close()
  })

  test('a long history before the duration does not hide newer messages', async () => {
    await sendAll('old one', 'old two')
    await readMessages(as(grid.bob), {})
    grid.clock.now += 10 * day
    await sendAll('new, read')
    await readMessages(as(grid.bob), {})
    await sendAll('new, waiting')

    expect(texts(await again({ since: '9d' }))).toEqual(['new, read', 'new, waiting'])
  })
})

function as(agent: TestAgent, store = grid.store) {
  const account = agent === grid.eve ? grid.evil : grid.acme
  return store.account(account.id, { type: 'agent', agentId: agent.id, alias: agent.alias, credentialId: 'test' })
}

/** Add copies of the first message in bob's inbox, read with the lease `batch`. */
async function addRead(count: number): Promise<void> {
  const copies = `(SELECT value FROM json_each(?)) JOIN`
  const ids = JSON.stringify(Array.from({ length: count }, () => crypto.randomUUID()))
  await grid.store.write([
    {
      sql: `INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, body, created_at)
        SELECT account_id, value, from_agent_id, from_alias, type, recipient, body, created_at
        FROM ${copies} (SELECT * FROM messages WHERE "account_id" = ? LIMIT 1)`,
      args: [ids, grid.acme.id],
    },
    {
      sql: `INSERT INTO deliveries
          (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, read_at, lease_id, inbox)
        SELECT account_id, agent_id, sender_account_id, value, 'read', chars, created_at, created_at, 'batch', inbox
        FROM ${copies} (SELECT * FROM deliveries WHERE "account_id" = ? ORDER BY seq LIMIT 1)`,
      args: [ids, grid.acme.id],
    },
  ])
}

async function sendAll(...all: string[]): Promise<void> {
  for (const text of all) await sendMessage(as(grid.alice), { to: 'bob', text })
}

function again(input: Parameters<typeof readAgain>[1]) {
  return readAgain(as(grid.bob), input)
}

function texts({ messages }: { messages: { message: string }[] }): string[] {
  return messages.map(({ message }) => message)
}

/** Make a message that was read unread again, as the release of its lease does. */
async function release(text: string): Promise<void> {
  await grid.store.write([{
    sql: `UPDATE deliveries SET state = 'unread', lease_id = NULL, read_at = NULL, release_count = release_count + 1
      WHERE account_id = ? AND message_id IN (SELECT id FROM messages WHERE account_id = ? AND body = ?)`,
    args: [grid.acme.id, grid.acme.id, text],
  }])
}
