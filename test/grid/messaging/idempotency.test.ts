/** Sends repeated with the same idempotency key, on every database. See docs/delivery.md, "Idempotency keys". */
import type { InStatement } from '@libsql/client'
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import type { SendInput } from '../../../src/grid/message/outgoing-message.ts'
import { day, minute } from '../../../src/lib/time.ts'
import { connect } from '../../../src/store/driver/remote-client.ts'
import type { Store } from '../../../src/store/store.ts'
import { rows, updateTrial } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAgent, TestGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { tripwire } from '../../support/tripwire.ts'
import { turn, waitFor } from '../../support/wait-for.ts'

const once: SendInput = { to: 'bob', text: 'once', idempotencyKey: 'k' }

let grid: TestGrid
/** Each commit of a send waits for this promise before it starts. */
let before: Promise<void>
/** Each commit of a send waits for this promise before it returns. */
let after: Promise<void>
/** How many sends wait for their commit or are being committed, and how many send commits are on disk. */
let queued: number
let committed: number
const isSend = (sql: string) => /^INSERT INTO messages\b/.test(sql)

onEachDatabase((open) => {
  beforeEach(async () => {
    before = after = Promise.resolve()
    queued = committed = 0
    grid = await open({
      inspect(sql, crossAccountQuery) {
        tripwire(sql, crossAccountQuery)
        if (isSend(sql)) queued++
      },
      connect(config) {
        const client = connect(config)
        const batch = client.batch.bind(client)
        client.batch = async (statements, mode) => {
          if (!statements.some((statement) => isSend((statement as InStatement & { sql: string }).sql))) {
            return await batch(statements, mode)
          }
          await before
          const results = await batch(statements, mode)
          committed++
          await after
          return results
        }
        return client
      },
    })
  })

  test('100 parallel sends under one key store one row and get 100 equal responses, none before the commit', async () => {
    const [releaseBefore, releaseAfter] = [hold((held) => before = held), hold((held) => after = held)]
    let answered = 0
    const sends = Array.from({ length: 100 }, () =>
      send(once).then((sent) => {
        answered++
        return sent
      }))
    await waitFor('the commit of all sends', () => queued === sends.length)
    await turn()
    const beforeCommit = answered
    releaseBefore()
    await waitFor('the first commit', () => committed > 0)
    await turn()
    // The commit is on disk, but has not returned.
    const duringCommit = answered
    releaseAfter()
    const answers = await Promise.all(sends)

    expect([beforeCommit, duringCommit]).toEqual([0, 0])
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await stored()).toEqual([answers[0].id])
  })

  test('a repeated send gets its response even if the recipient was deleted or the trial has ended, and does not count', async () => {
    await updateTrial(grid, grid.alice, { used: 9, max: 10, expiresAt: grid.clock.now + minute })
    const sent = await send(once)
    await deleteAgent(grid.acme.store, 'bob')
    grid.clock.now += 2 * minute

    // A repeat reports the recipient's current presence, not the presence at the first send.
    expect(await send(once)).toEqual({ ...sent, recipientPresence: undefined })
    expect((await grid.acme.store.read.agents.trial(grid.alice.id))!.used).toBe(10)
  })

  test.each<[string, Partial<SendInput>]>([
    ['text', { text: 'other' }],
    ['recipient', { to: 'alice-two' }],
    ['conversation', { conversationId: 'c' }],
  ])('a different %s under the same key is a conflict, even for two simultaneous sends', async (_, change) => {
    await grid.acme.agent('alice-two')
    const outcomes = await Promise.all(
      [once, { ...once, ...change }].map((input) => send(input).then(() => 'stored', (error) => error.code)),
    )
    const later = await send({ ...once, text: 'a third' }).catch((error) => error.code)

    expect(outcomes.toSorted()).toEqual(['idempotency_conflict', 'stored'])
    expect(later).toBe('idempotency_conflict')
    expect(await stored()).toHaveLength(1)
  })

  test.each<[string, SendInput, () => Promise<unknown>]>([
    ['recipient is missing', { ...once, to: 'carol' }, () => grid.acme.agent('carol')],
    ['trial has ended', once, () => trial(10)],
  ])(
    'a send that is refused because the %s does not use up its key, and is stored once it is allowed',
    async (...row) => {
      const [reason, input, allow] = row
      if (reason === 'trial has ended') await trial(0)
      await expect(send(input)).rejects.toThrow()
      expect(await stored()).toEqual([])
      await allow()

      const sent = await send(input)
      expect(await send(input)).toEqual(sent)
      expect(await stored()).toEqual([sent.id])
    },
  )

  test('an idempotency key is remembered for 7 days, and can then be used again', async () => {
    const first = await send(once)
    grid.clock.now += 7 * day - 1
    expect(await send(once)).toEqual(first)
    grid.clock.now += 1
    const other = { ...once, text: 'another' }
    const second = await send(other)

    expect(second.id).not.toBe(first.id)
    expect(second.recipientUnread).toBe(2)
    await send({ to: 'bob', text: 'changes the receipt of a new send' })
    expect(await send(other)).toEqual(second)
    await expect(send(once)).rejects.toMatchObject({ code: 'idempotency_conflict' })
  })
})

async function send(input: SendInput, sender?: Awaited<ReturnType<typeof enter>>) {
  return await sendMessage(sender ?? await enter(grid.alice), input)
}

function enter({ key }: TestAgent, store: Store = grid.store) {
  return createAuthenticator(store)(`Bearer ${key}`)
}

/** Returns the ids of the account's messages, after checking that each has its delivery. */
async function stored(): Promise<string[]> {
  const ids = async (column: string, table: string) =>
    (await rows(grid, `SELECT ${column} AS id FROM ${table} WHERE account_id = ?`, [grid.acme.id])).map(({ id }) =>
      String(id)
    )
  const found = await ids('id', 'messages')
  expect((await ids('message_id', 'v_deliveries')).toSorted()).toEqual(found.toSorted())
  return found
}

function trial(max: number) {
  return updateTrial(grid, grid.alice, { used: 0, max, expiresAt: grid.clock.now + minute })
}

/** Passes a pending promise to `assign`, and returns the function that resolves it. */
function hold(assign: (held: Promise<void>) => void): () => void {
  let release = () => {}
  assign(new Promise((resolve) => release = resolve))
  return release
}
