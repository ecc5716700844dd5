import { beforeEach, expect, test } from 'vitest'
import { readAgain, readMessage } from '../../../src/grid/messaging/read-again.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { hour, minute } from '../../../src/lib/time.ts'
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

  test('reading with since or peek changes nothing in the database', async () => {
    await sendAll('one', 'two', 'three')
    const { cursor } = await readMessages(as(grid.bob), { limit: 2 })
    const look = (args: Record<string, unknown>) => callTool(grid, grid.bob.key, 'read_messages', args)
    // A key's use is recorded at most once a minute, so the following calls do not record it.
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

  test('last_batch replays the newest lease and no older messages', async () => {
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

  test('reading since a cursor shows messages stored after it, and replays those already read', async () => {
    await sendAll('one', 'two', 'three')
    const { cursor } = await readMessages(as(grid.bob), { limit: 1 })
    await readMessages(as(grid.bob), { limit: 1 })

    const page = await again({ since: cursor })

    expect(page.messages.map(({ message, replayed }) => [message, replayed])).toEqual([
      ['two', true],
      ['three', undefined],
    ])
  })

  test('reading since a duration selects by storage time, and keeps the storage order', async () => {
    const start = grid.clock.now
    await sendAll('too old')
    grid.clock.now = start + 1
    await sendAll('just in')
    // The clock goes back by less than 5 minutes, the largest allowed difference between processes' clocks.
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
    // The result is the same when all are read, although the early message is stored between the others.
    await readMessages(as(grid.bob), {})
    expect(texts(await again({ since: '1h' }))).toEqual(['just in', 'newest'])
  })

  test('a message longer than max_chars is leased alone and truncated, and later ones follow', async () => {
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
    'reading since %j is refused',
    async (since) => {
      await expect(again({ since })).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining('an ISO time, a message_id'),
        details: { field: 'since' },
      })
    },
  )

  test("another agent's cursor and a modified cursor are refused", async () => {
    await sendAll('one')
    await sendMessage(as(grid.bob), { to: 'alice', text: 'two' })
    const foreign = await readMessages(as(grid.alice), {})
    const { cursor } = await readMessages(as(grid.bob), {})

    for (const since of [foreign.cursor, cursor!.replace(/\.(\w)/, '.z'), cursor!.slice(0, -1), `${cursor}0`]) {
      await expect(again({ since })).rejects.toMatchObject({ code: 'invalid_input' })
    }
  })

  test('a cursor from before a restore is refused with cursor_expired and advice', async () => {
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
})

function as(agent: TestAgent, store = grid.store) {
  const account = agent === grid.eve ? grid.evil : grid.acme
  return store.account(account.id, { type: 'agent', agentId: agent.id, alias: agent.alias, credentialId: 'test' })
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
