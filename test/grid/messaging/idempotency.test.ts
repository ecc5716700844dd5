/** Sends that are repeated under their key (reliability 1.2, 2.1, Q5, Q6), on every database. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bearer } from '../../../src/auth/bearer.ts'
import { reissueKey } from '../../../src/grid/agents/agent-keys.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { type SendInput, sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { minute } from '../../../src/lib/time.ts'
import { connect } from '../../../src/store/driver/local-client.ts'
import { openStore, type Store } from '../../../src/store/store.ts'
import { rows, updateTrial } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestAgent, TestGrid } from '../../support/grid.ts'
import { tripwire } from '../../support/tripwire.ts'

const once: SendInput = { to: 'bob', text: 'once', idempotencyKey: 'k' }

let grid: TestGrid
/** Commits wait for it, and their answers for the second one. */
let before: Promise<void>
let after: Promise<void>

onEachDatabase((open) => {
  beforeEach(async () => {
    before = after = Promise.resolve()
    grid = await open({
      connect(config) {
        const client = connect(config)
        const batch = client.batch.bind(client)
        client.batch = async (...group) => {
          await before
          const results = await batch(...group)
          await after
          return results
        }
        return client
      },
    })
  })
  afterEach(() => grid.close())

  test('Q5: 100 parallel sends under one key are one row and 100 equal answers, none before the commit', async () => {
    const [openBefore, openAfter] = [gate((held) => before = held), gate((held) => after = held)]
    let answered = 0
    const sends = Array.from({ length: 100 }, () =>
      send(once).then((sent) => {
        answered++
        return sent
      }))
    await sleep(100)
    const beforeCommit = answered
    openBefore()
    await sleep(100)
    // On disk, but the commit has not returned.
    const duringCommit = answered
    openAfter()
    const answers = await Promise.all(sends)

    expect([beforeCommit, duringCommit]).toEqual([0, 0])
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await stored()).toEqual([answers[0].id])
  })

  test('Q5: after a restart, and with a new key of the agent, a repeat is answered as the send was', async () => {
    const sent = await send(once)
    await readMessages(await enter(grid.bob), {})
    await send({ to: 'bob', text: 'changes what a new send would tell' })
    await grid.store.close()
    const restarted = await openStore(grid.deps, { inspect: tripwire })
    const { apiKey } = await reissueKey(restarted.account(grid.acme.id, { type: 'system', job: 'test' }), 'alice')
    const again = await send(once, await bearer(restarted)(`Bearer ${apiKey}`))
    await restarted.close()

    expect(again).toEqual(sent)
  })

  test('a repeat is answered although its recipient is gone and the trial used up, and is not counted', async () => {
    await updateTrial(grid, grid.alice, { used: 9, max: 10, expiresAt: grid.clock.now + minute })
    const sent = await send(once)
    await deleteAgent(grid.acme.store, 'bob')
    grid.clock.now += 2 * minute

    expect(await send(once)).toEqual(sent)
    expect((await grid.acme.store.read.agents.trial(grid.alice.id))!.used).toBe(10)
  })

  test.each<[string, Partial<SendInput>]>([
    ['text', { text: 'other' }],
    ['recipient', { to: 'alice-two' }],
    ['conversation', { conversationId: 'c' }],
  ])('Q6: another %s under the same key is a conflict, also of two sends at once', async (_, change) => {
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
  ])('Q6: a send that was refused because the %s is stored under the same key when it is allowed', async (...row) => {
    const [reason, input, allow] = row
    if (reason === 'trial has ended') await trial(0)
    await expect(send(input)).rejects.toThrow()
    expect(await stored()).toEqual([])
    await allow()

    const sent = await send(input)
    expect(await send(input)).toEqual(sent)
    expect(await stored()).toEqual([sent.id])
  })

  test('a key is of one agent: others use the same for messages of their own', async () => {
    const [one, two] = [await send(once), await send({ ...once, to: 'alice' }, await enter(grid.bob))]

    expect(two.id).not.toBe(one.id)
    expect((await stored()).toSorted()).toEqual([one.id, two.id].toSorted())
  })
})

async function send(input: SendInput, sender?: Awaited<ReturnType<typeof enter>>) {
  return await sendMessage(sender ?? await enter(grid.alice), input)
}

function enter({ key }: TestAgent, store: Store = grid.store) {
  return bearer(store)(`Bearer ${key}`)
}

/** The messages of the account, which all have their delivery. */
async function stored(): Promise<string[]> {
  const ids = async (column: string, table: string) =>
    (await rows(grid, `SELECT ${column} AS id FROM ${table} WHERE account_id = ?`, [grid.acme.id])).map(({ id }) =>
      String(id)
    )
  const found = await ids('id', 'messages')
  expect((await ids('message_id', 'deliveries')).toSorted()).toEqual(found.toSorted())
  return found
}

function trial(max: number) {
  return updateTrial(grid, grid.alice, { used: 0, max, expiresAt: grid.clock.now + minute })
}

/** Close a gate; the answer opens it. */
function gate(close: (held: Promise<void>) => void): () => void {
  let open = () => {}
  close(new Promise((resolve) => open = resolve))
  return () => open()
}
