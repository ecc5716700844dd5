/** What a write promises (reliability 2.1, 5.3, Q10 to Q14), on every database. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bearer } from '../../src/auth/bearer.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { type SendInput, sendMessage } from '../../src/grid/messaging/send-message.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { Statement } from '../../src/store/driver/binding.ts'
import { connect } from '../../src/store/driver/local-client.ts'
import { rows, updateTrial } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { TestAgent, TestGrid } from '../support/grid.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
  })
  afterEach(() => grid.close())

  test('a unit that breaks a constraint leaves no rows, fails alone, and its neighbours are stored', async () => {
    const skills = grid.acme.store.change.skills
    const unknownAgent = grid.acme.store.change.agents.addTrial('nobody', 10, 0)
    const add = (name: string) => skills.addMissing(grid.alice.id, { id: name, name, description: '' }, 0)

    const answers = await Promise.allSettled([
      grid.acme.store.write([add('one')]),
      grid.acme.store.write([add('two'), unknownAgent]),
      grid.acme.store.write([add('three')]),
    ])

    expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(answers[1]).toMatchObject({ reason: { code: 'write_conflict' } })
    expect((await grid.acme.store.read.skills.list()).map(({ name }) => name)).toEqual(['one', 'three'])
  })

  test.each<[string, () => Promise<unknown>, SendInput, string]>([
    ['the recipient is deleted', () => update('agents', 'deleted_at = 1', bob()), toBob, 'recipient_not_found'],
    ['the sender is removed from the channel', () => leave(grid.alice), toGeneral, 'not_channel_member'],
    ['the channel is deleted', () => update('channels', 'deleted_at = 1'), toGeneral, 'channel_not_found'],
    ['the trial is used up', () => trial(10, grid.clock.now + 1), toBob, 'trial_expired'],
    ['the time of the trial is up', () => trial(0, grid.clock.now), toBob, 'trial_expired'],
    ['a public recipient becomes private', () => hide('private'), toDesk, 'recipient_not_found'],
    ['a public recipient makes a list', () => hide('public', 'allow_list'), toDesk, 'recipient_not_found'],
    ['the sender is deleted', () => update('agents', 'deleted_at = 1', alice()), toBob, 'unavailable'],
  ])('%s between reading and writing: nothing is stored, and the caller gets the reason of now', async (...row) => {
    const [, change, input, reason] = row
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    await grid.evil.agent('desk', { visibility: 'public' })
    await trial(9, grid.clock.now + 60_000)

    const answer = await sendMessage(changingBefore(change), { ...input, idempotencyKey: 'k' })
      .then(() => 'stored', (error) => error.code)

    expect(answer).toBe(reason)
    expect(await stored()).toEqual({ messages: 0, deliveries: 0, keys: 0 })
  })

  test('the same unit run twice stores once and counts once', async () => {
    await trial(0, grid.clock.now + 60_000)
    const twice = writing(as(grid.alice), async (write, statements) => {
      await write(statements)
      return write(statements)
    })

    await sendMessage(twice, { ...toBob, idempotencyKey: 'k' })
    await sendMessage(twice, toBob)

    expect(await stored()).toEqual({ messages: 2, deliveries: 2, keys: 1 })
    expect((await as(grid.alice).read.agents.trial(grid.alice.id))!.used).toBe(2)
  })

  test('the same claim run twice hands out one batch', async () => {
    for (let n = 0; n < 4; n++) await sendMessage(as(grid.alice), toBob)
    const twice = writing(as(grid.bob), async (write, statements) => {
      await write(statements)
      return write(statements)
    })

    const batch = await readMessages(twice, { limit: 2 })

    expect(batch.messages).toHaveLength(2)
    expect(batch.remaining).toBe(2)
  })

  test('Q10: 16 senders: every message comes once, in the order of storing, which keeps that of each sender', async () => {
    const senders = await Promise.all(Array.from({ length: 16 }, (_, n) => grid.acme.agent(`sender-${n}`)))
    await Promise.all(senders.map(async (sender) => {
      for (let n = 0; n < 10; n++) await sendMessage(as(sender), { to: 'bob', text: `${n}` })
    }))

    const mail = []
    for (let batch; (batch = await readMessages(as(grid.bob), {})).messages.length > 0;) mail.push(...batch.messages)

    const order = await rows(grid, 'SELECT seq, message_id FROM deliveries WHERE account_id = ? ORDER BY rowid', [
      grid.acme.id,
    ])
    expect(new Set(mail.map(({ message_id }) => message_id)).size).toBe(160)
    expect(mail.map(({ message_id }) => message_id)).toEqual(order.map((row) => row.message_id))
    for (let n = 1; n < order.length; n++) expect(Number(order[n].seq)).toBeGreaterThan(Number(order[n - 1].seq))
    for (const { alias } of senders) {
      const texts = mail.filter(({ user }) => user === `@${alias}`).map(({ message }) => message)
      expect(texts).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    }
  })

  test('sends of one moment are stored in the order they were made', async () => {
    await Promise.all(Array.from({ length: 200 }, (_, n) => sendMessage(as(grid.alice), { to: 'bob', text: `${n}` })))

    const mail = []
    for (let batch; (batch = await readMessages(as(grid.bob), {})).messages.length > 0;) mail.push(...batch.messages)
    expect(mail.map(({ message }) => message)).toEqual(Array.from({ length: 200 }, (_, n) => `${n}`))
  })

  test('Q13: reads beside groups see only what was committed: of a post all deliveries or none', async () => {
    const members = await Promise.all(Array.from({ length: 20 }, (_, n) => grid.acme.agent(`member-${n}`)))
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', ...members.map(({ alias }) => alias)] })
    const { sent, received } = { sent: [] as string[], received: new Set<number>() }
    let isOver = false
    const look = async () => {
      for (const id of sent) received.add((await as(grid.alice).read.receipts.of(id)).length)
    }
    const looking = (async () => {
      for (; !isOver; await new Promise((resolve) => setTimeout(resolve))) await look()
      await look()
    })()
    const watched = writing(as(grid.alice), (write, statements) => {
      sent.push(String(statements[0].args.find((arg) => /^[0-9a-f-]{36}$/.test(String(arg)))))
      return write(statements)
    })
    await Promise.all(Array.from({ length: 40 }, () => sendMessage(watched, toGeneral)))
    isOver = true
    await looking

    expect([...received].filter((n) => n !== 0 && n !== 20)).toEqual([])
    expect(received).toContain(20)
  })

  test('a fan-out is all or nothing', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    const broken = writing(as(grid.alice), (write, statements) => {
      return write([...statements, grid.acme.store.change.agents.addTrial('nobody', 1, 1)])
    })

    await expect(sendMessage(broken, { ...toGeneral, idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'write_conflict',
    })
    expect(await stored()).toEqual({ messages: 0, deliveries: 0, keys: 0 })
  })

  test('a post beside a leaving member reaches who is in the channel at the commit', async () => {
    await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })

    await sendMessage(changingBefore(() => leave(grid.bob)), toGeneral)

    expect(await stored()).toMatchObject({ messages: 1, deliveries: 1 })
    expect((await readMessages(as(grid.bob), {})).messages).toEqual([])
  })
})

onEachDatabase((open) => {
  // The group is committed, and then its answer is lost: on a server we ask again, on a file that cannot happen.
  let lost = 0
  const losing: typeof connect = (config) => {
    const client = connect(config)
    const batch = client.batch.bind(client)
    client.batch = async (...group) => {
      const results = await batch(...group)
      if (client.protocol !== 'file' && lost-- > 0) throw new TypeError('fetch failed')
      return results
    }
    return client
  }
  beforeEach(async () => {
    lost = 0
    grid = await open({ connect: losing })
  })
  afterEach(() => grid.close())

  test('a send whose answer was lost is stored once, counts once and has its own id', async () => {
    await trial(0, grid.clock.now + 60_000)
    lost = 1

    const sent = await sendMessage(as(grid.alice), toBob)

    expect(await stored()).toEqual({ messages: 1, deliveries: 1, keys: 0 })
    expect((await readMessages(as(grid.bob), {})).messages.map(({ message_id }) => message_id)).toEqual([sent.id])
    expect((await as(grid.alice).read.agents.trial(grid.alice.id))!.used).toBe(1)
  })

  test('what else is made while an answer gets lost is made once, and its keys work', async () => {
    lost = 1
    const { apiKey } = await createAgent(grid.acme.store, { alias: 'carol', skills: [{ name: 'a' }] })
    lost = 1
    const { adminKey } = await createAdminKey(grid.acme.store, 'second')
    lost = 1
    const channel = await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'carol'] })
    lost = 1
    const signup = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe' })
    lost = 1
    const again = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe-2' })

    expect(await authenticated(apiKey)).toBe('agent')
    expect(await authenticated(adminKey)).toBe('admin')
    expect(channel).toMatchObject({ channel: { name: 'general' }, members: ['@alice', '@carol'] })
    expect([signup.status, again.status]).toEqual([201, 201])
    expect(await authenticated((await signup.json()).api_key)).toBe('agent')
    await expect(createAgent(grid.acme.store, { alias: 'carol' })).rejects.toMatchObject({ code: 'alias_taken' })
    await expect(createChannel(grid.acme.store, { name: 'general' })).rejects.toMatchObject({ code: 'channel_taken' })
  })
})

const toBob: SendInput = { to: '@bob', text: 'hi' }
const toGeneral: SendInput = { to: '#general', text: 'hi' }
const toDesk: SendInput = { to: '@desk', text: 'hi' }

const alice = () => grid.alice.id
const bob = () => grid.bob.id

function as(agent: TestAgent) {
  return grid.store.account(grid.acme.id, {
    type: 'agent',
    agentId: agent.id,
    alias: agent.alias,
    credentialId: 'test',
  })
}

/** An account whose writes go through `around`. */
function writing(
  account: AccountStore,
  around: (write: AccountStore['write'], statements: Statement[]) => ReturnType<AccountStore['write']>,
): AccountStore {
  return { ...account, write: (statements) => around(account.write, statements) }
}

/** Alice, for whom something changes after each look and before its write. */
function changingBefore(change: () => Promise<unknown>): AccountStore {
  return writing(as(grid.alice), async (write, statements) => {
    await change()
    return write(statements)
  })
}

function update(table: 'agents' | 'channels', set: string, id?: string) {
  return rows(grid, `UPDATE ${table} SET ${set} WHERE account_id = ? AND id = coalesce(?, id)`, [
    grid.acme.id,
    id ?? null,
  ])
}

function hide(visibility: string, policy = 'auto_approve') {
  return rows(
    grid,
    "UPDATE agents SET visibility = ?, access_policy = ? WHERE account_id = ? AND alias = 'desk'",
    [visibility, policy, grid.evil.id],
  )
}

function leave(agent: TestAgent) {
  return rows(grid, 'DELETE FROM channel_members WHERE account_id = ? AND agent_id = ?', [grid.acme.id, agent.id])
}

function trial(used: number, expiresAt: number) {
  return updateTrial(grid, grid.alice, { used, max: 10, expiresAt })
}

async function stored() {
  const count = async (table: string) =>
    Number((await rows(grid, `SELECT count(*) AS n FROM ${table} WHERE account_id = ?`, [grid.acme.id]))[0].n)
  return {
    messages: await count('messages'),
    deliveries: await count('deliveries'),
    keys: await count('idempotency_keys'),
  }
}

async function authenticated(key: string): Promise<string> {
  return (await bearer(grid.store)(`Bearer ${key}`)).actor.type
}
