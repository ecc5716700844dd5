/** The guarantees of writes, on every kind of database. See docs/delivery.md, "Sending". */
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { createAdminKey } from '../../src/grid/accounts/accounts.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import type { SendInput } from '../../src/grid/message/outgoing-message.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { Statement } from '../../src/store/sql.ts'
import { connect } from '../../src/store/driver/remote-client.ts'
import { rows, updateTrial } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestAgent, type TestGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open()
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
  ])('nothing is stored if %s between reading and writing, and the caller gets the current reason', async (...row) => {
    const [, change, input, reason] = row
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    await grid.evil.agent('desk', { visibility: 'public' })
    await trial(9, grid.clock.now + 60_000)

    const answer = await sendMessage(changingBefore(change), { ...input, idempotencyKey: 'k' })
      .then(() => 'stored', (error) => error.code)

    expect(answer).toBe(reason)
    expect(await stored()).toEqual({ messages: 0, deliveries: 0, keys: 0 })
  })

  test('a unit that runs twice is stored and counted once', async () => {
    await trial(0, grid.clock.now + 60_000)
    const twice = intercepting(as(grid.alice), async (write, statements) => {
      await write(statements)
      return write(statements)
    })

    await sendMessage(twice, { ...toBob, idempotencyKey: 'k' })
    await sendMessage(twice, toBob)

    expect(await stored()).toEqual({ messages: 2, deliveries: 2, keys: 1 })
    expect((await as(grid.alice).read.agents.trial(grid.alice.id))!.used).toBe(2)
  })

  test('a claim that runs twice leases one batch', async () => {
    for (let n = 0; n < 4; n++) await sendMessage(as(grid.alice), toBob)
    const twice = intercepting(as(grid.bob), async (write, statements) => {
      await write(statements)
      return write(statements)
    })

    const batch = await readMessages(twice, { limit: 2 })

    expect(batch.messages).toHaveLength(2)
    expect(batch.remaining).toBe(2)
  })

  test("every message of 16 parallel senders arrives once, in storage order and in each sender's order", async () => {
    const senders = await Promise.all(Array.from({ length: 16 }, (_, n) => grid.acme.agent(`sender-${n}`)))
    await Promise.all(senders.map(async (sender) => {
      for (let n = 0; n < 10; n++) await sendMessage(as(sender), { to: 'bob', text: `${n}` })
    }))

    const received = []
    for (let batch; (batch = await readMessages(as(grid.bob), {})).messages.length > 0;) {
      received.push(...batch.messages)
    }

    const order = await rows(grid, 'SELECT seq, message_id FROM v_deliveries WHERE account_id = ? ORDER BY seq', [
      grid.acme.id,
    ])
    expect(new Set(received.map(({ message_id }) => message_id)).size).toBe(160)
    expect(received.map(({ message_id }) => message_id)).toEqual(order.map((row) => row.message_id))
    for (let n = 1; n < order.length; n++) expect(Number(order[n].seq)).toBeGreaterThan(Number(order[n - 1].seq))
    for (const { alias } of senders) {
      const texts = received.filter(({ user }) => user === `@${alias}`).map(({ message }) => message)
      expect(texts).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    }
  })

  test('a fan-out is stored completely or not at all', async () => {
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })
    const broken = intercepting(as(grid.alice), (write, statements) => {
      return write([...statements, grid.acme.store.change.agents.addTrial('nobody', 1, 1)])
    })

    await expect(sendMessage(broken, { ...toGeneral, idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'write_conflict',
    })
    expect(await stored()).toEqual({ messages: 0, deliveries: 0, keys: 0 })
  })

  test('a post that is sent while a member leaves reaches the members at its commit', async () => {
    await grid.acme.agent('carol')
    await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'carol'] })

    await sendMessage(changingBefore(() => leave(grid.bob)), toGeneral)

    expect(await stored()).toMatchObject({ messages: 1, deliveries: 1 })
    expect((await readMessages(as(grid.bob), {})).messages).toEqual([])
  })
})

onEachDatabase((open) => {
  // Loses the result of a committed group, so that the store retries the group. Only a database server can lose a
  // result; a local file cannot.
  let lost = 0
  const losingConnect: typeof connect = (config) => {
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
    grid = await open({ connect: losingConnect })
  })

  test('a send whose response was lost is stored once, counts once and has its own id', async () => {
    await trial(0, grid.clock.now + 60_000)
    lost = 1

    const sent = await sendMessage(as(grid.alice), toBob)

    expect(await stored()).toEqual({ messages: 1, deliveries: 1, keys: 0 })
    expect((await readMessages(as(grid.bob), {})).messages.map(({ message_id }) => message_id)).toEqual([sent.id])
    expect((await as(grid.alice).read.agents.trial(grid.alice.id))!.used).toBe(1)
  })

  test('a record other than a message is created once even if its response is lost, and a created key works', async () => {
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

const as = (agent: TestAgent) => storeOf(grid, agent)

/** Returns an account whose writes go through `intercept`. */
function intercepting(
  account: AccountStore,
  intercept: (write: AccountStore['write'], statements: Statement[]) => ReturnType<AccountStore['write']>,
): AccountStore {
  return { ...account, write: (statements) => intercept(account.write, statements) }
}

/** Returns alice's account, with `change` running before each write. */
function changingBefore(change: () => Promise<unknown>): AccountStore {
  return intercepting(as(grid.alice), async (write, statements) => {
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
  return (await createAuthenticator(grid.store)(`Bearer ${key}`)).actor.type
}
