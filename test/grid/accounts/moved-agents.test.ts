/** A claim moves agents into another account while they are in use. See docs/security.md, "Signup and claims". */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { createAgent, deleteAgent } from '../../../src/grid/agents/agents.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { openConversation } from '../../../src/grid/conversations/open.ts'
import { listThreads } from '../../../src/grid/conversations/threads.ts'
import { findPart } from '../../../src/grid/message/read-part.ts'
import { readAgain } from '../../../src/grid/messaging/read-again.ts'
import { leaseOf, readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { searchMessages } from '../../../src/grid/messaging/search-messages.ts'
import { appendToUpload, beginUpload } from '../../../src/grid/message/uploads.ts'
import { continueTask } from '../../../src/grid/tasks/start-task.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { hour } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { dump, rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import { storeOf, type TestGrid } from '../../support/grid.ts'
import { guard, testProviders } from '../../support/guarded.ts'
import { sendMessage } from '../../support/messaging.ts'
import { membership, person } from '../../support/people.ts'
import { claimAgents, type SignedUp, signUpAs } from '../../support/signup.ts'
import { askFor, eventsOf, inShort } from '../../support/tasks.ts'

const email = 'zoe@new.example'
/** A statement that makes its unit fail. */
const stop = { sql: 'INSERT INTO store_facts (key, value) VALUES (NULL, NULL)', args: [] }

onEachDatabase((open) => {
  let grid: TestGrid
  let zoe: SignedUp
  let mate: SignedUp
  beforeEach(async () => {
    grid = await open({ ...testProviders(), env: { SIGNUP_PER_HOUR: '1000' } })
    zoe = await signUpAs(grid, email, 'zoe', { description: 'counts beans', skills: ['beans'] })
    mate = await signUpAs(grid, email, 'mate')
  })

  test("a move keeps every setting of an agent, in every column of the agent's row", async () => {
    const names = (await rows(grid, `SELECT name FROM pragma_table_info('agents')`)).map(({ name }) => String(name))
    const kept = ['account_id', 'id', 'alias', 'signup_id', 'deleted_at', 'moved_to']
    const sealed = ['encrypted_token', 'token_iv', 'token_auth_tag', 'token_key_id']
    const settings = names.filter((name) => ![...kept, ...sealed].includes(name))
    const set = [...settings, ...sealed].map((name, n) => `${name} = ${name === 'type' ? `'a2a'` : n + 100}`)
    const where = 'WHERE account_id = ? AND id = ?'
    await rows(grid, `UPDATE agents SET ${set.join(', ')} ${where}`, [zoe.home, zoe.id])

    await move()

    const [before] = await rows(grid, `SELECT * FROM agents ${where}`, [zoe.home, zoe.id])
    const [after] = await rows(grid, `SELECT * FROM agents ${where}`, [grid.acme.id, zoe.id])
    for (const name of [...settings, 'alias']) expect([name, after[name]]).toEqual([name, before[name]])
    // A token is encrypted for its account, so it is not moved.
    for (const name of sealed) expect([name, after[name]]).toEqual([name, null])
    expect(after).toMatchObject({ deleted_at: null, moved_to: null, signup_id: null })
    expect(before).toMatchObject({ deleted_at: grid.clock.now, moved_to: grid.acme.id })
    expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
  })

  test("after a move, search finds a moved agent's unread messages only for the agent itself", async () => {
    await send('a word from before')
    await followLog(grid.store)
    await move()

    const found = async (account: AccountStore) => (await searchMessages(account, { query: 'word' })).messages
    expect(await found(await enter(zoe))).toMatchObject([{ text: 'a word from before' }])
    expect(await found(storeOf(grid, grid.alice))).toEqual([])
  })

  test('after a move, leased messages are redelivered once with a mark, whether or not the client received them', async () => {
    await send('one')
    await send('two')
    const before = await enter(zoe)
    const { lease } = await readMessages(before, { limit: 1 })
    await move()
    // The lease belongs to the old account, so neither call has an effect.
    await leaseOf(before, lease!.id).release()
    leaseOf(before, lease!.id).ack()
    await send('three')

    const { messages } = await readMessages(await enter(zoe), {})
    expect(messages.map(({ message, redelivered }) => [message, redelivered])).toEqual([
      ['one', true],
      ['two', undefined],
      ['three', undefined],
    ])
    expect((await readMessages(await enter(zoe), {})).messages).toEqual([])
  })

  test('released and parked messages move with their inbox', async () => {
    await send('released')
    await send('parked')
    const { lease } = await readMessages(await enter(zoe), { limit: 1 })
    await leaseOf(await enter(zoe), lease!.id).release()
    await rows(grid, `UPDATE deliveries SET state = 'parked', read_at = 1 WHERE account_id = ? AND release_count = 0`, [
      zoe.home,
    ])
    await move()

    const { messages } = await readMessages(await enter(zoe), {})
    expect(messages).toMatchObject([{ message: 'released', redelivered: true }])
    expect(await grid.acme.store.read.parked.list(10)).toMatchObject([{ alias: 'zoe' }])
    expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
  })

  test('read messages move with their agent, and its cursor stays valid', async () => {
    await send('one')
    const first = await readMessages(await enter(zoe), {})
    leaseOf(await enter(zoe), first.lease!.id).ack()
    await send('two')
    await move()

    expect((await readAgain(await enter(zoe), { since: 'last_batch' })).messages).toMatchObject([{ message: 'one' }])
    const behind = await readAgain(await enter(zoe), { since: first.cursor })
    expect(behind.messages.map(({ message }) => message)).toEqual(['two'])
    const stored = await rows(grid, 'SELECT body FROM messages WHERE account_id = ? ORDER BY seq', [zoe.home])
    expect(stored.map(({ body }) => body)).toEqual(['one', 'two'])
    expect(await rows(grid, 'SELECT 1 FROM deliveries WHERE account_id = ?', [zoe.home])).toEqual([])
  })

  test.each([undefined, 'plan-1'])(
    'after a move, both accounts show complete conversations and mark foreign agents (%s)',
    async (conversationId) => {
      const say = async (from: AccountStore, to: string, text: string) => {
        await sendMessage(from, { to, text, conversationId })
        await followLog(grid.store)
      }
      const readAll = async (who: SignedUp) => {
        const { lease } = await readMessages(await enter(who), {})
        leaseOf(await enter(who), lease!.id).ack()
      }
      const left = await signUpAs(grid, email, 'left')
      await say(await enter(mate), '@zoe', 'mate asks')
      await say(await enter(left), '@zoe', 'left asks')
      await readAll(zoe)
      await say(await enter(zoe), '@mate', 'zoe answers')
      await say(await enter(zoe), '@left', 'zoe refuses')
      await say(await enter(left), '@zoe', 'left insists')
      await say(await enter(mate), '@zoe', 'mate goes on')

      await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['left'] })
      await say(await enter(zoe), '@alice', 'hello, alice')
      await say(await enter(mate), '@zoe', 'after the move')

      const owner = await person(grid, { role: 'owner' })
      await grid.store.write([membership(grid.store, zoe.home, owner.id, 'owner', grid.clock.now)])
      await rows(grid, 'UPDATE accounts SET people_read_since = 0 WHERE id = ?', [zoe.home])
      /** Returns the conversations that people see in an account, by agents. Foreign agents and messages are marked. */
      const shown = async (accountId: string) => {
        const account = grid.store.account(accountId, owner.actor('owner'))
        const found: Record<string, string[]> = {}
        for (const { id, agents, messages: count } of (await listThreads(account, {})).threads) {
          const { messages } = await openConversation(account, id, { newest: true }, { requestId: null })
          const who = agents.map(({ alias, isForeign }) => isForeign ? `${alias} of another account` : alias)
          found[who.sort().join(', ')] = messages.map(({ body, isForeign }) => isForeign ? `${body}, foreign` : body)
          expect(messages.length).toBe(count)
        }
        return found
      }
      const between = ['mate asks', 'zoe answers', 'mate goes on', 'after the move']
      const withLeft = { 'left of another account, zoe': ['left insists, foreign'] }
      const whole = conversationId === undefined
        ? { 'mate, zoe': between, 'alice, zoe': ['hello, alice'], ...withLeft }
        : { 'alice, mate, zoe': [...between.slice(0, 3), 'hello, alice', 'after the move'], ...withLeft }
      expect(await shown(grid.acme.id)).toEqual(whole)
      const withZoe = ['left asks', 'zoe refuses, foreign', 'left insists']
      expect(await shown(zoe.home)).toMatchObject(
        conversationId === undefined ? { 'left, zoe of another account': withZoe } : {
          'left, mate of another account, zoe of another account': [
            ...['mate asks, foreign', 'left asks', 'zoe answers, foreign', 'zoe refuses, foreign', 'left insists'],
            'mate goes on, foreign',
          ],
        },
      )

      // The threads' counts, which must equal those after a rebuild of the projection.
      const counted = () =>
        Promise.all(
          [grid.acme.id, zoe.home].map((id) =>
            rows(
              grid,
              'SELECT key, last_seq, last_at, messages FROM threads WHERE account_id = ? AND last_seq > 0 ORDER BY key',
              [
                id,
              ],
            )
          ),
        )
      const kept = await counted()
      await grid.store.write([grid.store.global.conversations.startAgain(), grid.store.global.traffic.startAgain()])
      await followLog(grid.store)
      expect(await shown(grid.acme.id)).toEqual(whole)
      expect(await counted()).toEqual(kept)
      expect(await rows(grid, 'PRAGMA foreign_key_check')).toEqual([])
    },
  )

  test('a read or a send that began before the move has no effect in the old account', async () => {
    await send('one')
    const [reader, sender] = [await enter(zoe), await enter(mate)]
    await move()

    expect((await readMessages(reader, {})).messages).toEqual([])
    await expect(sendMessage(sender, { to: 'zoe', text: 'late' })).rejects.toMatchObject({
      code: 'recipient_not_found',
    })
    expect((await readMessages(await enter(zoe), {})).messages).toMatchObject([{ message: 'one' }])
  })

  test('a moved agent can answer earlier messages, fetch their large parts, and receive answers', async () => {
    const parts = [{ text: 'p'.repeat(10_000) }]
    const { id } = await sendMessage(await enter(mate), { to: 'zoe', text: 'one', a2a: { messageId: 'm', parts } })
    await sendMessage(await enter(zoe), { to: 'mate', text: 'not read yet' })
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

    expect((await findPart(await enter(zoe), `${id}.0`)).text).toBe(parts[0].text)
    await sendMessage(await enter(zoe), { to: 'mate', text: 'an answer', replyToMessageId: id })
    const { messages } = await readMessages(await enter(mate), {})
    expect(messages.map(({ message }) => message)).toEqual(['not read yet', 'an answer'])
    await sendMessage(await enter(mate), { to: 'zoe', text: 'thanks', replyToMessageId: messages[1].message_id })
    expect((await readMessages(await enter(zoe), {})).messages.map(({ message }) => message)).toEqual(['one', 'thanks'])
  })

  test('a moved agent can send a file whose upload began before the move', async () => {
    const { upload_id } = await beginUpload(await enter(zoe), { agentId: zoe.id }, { bytes: 3 })
    const body = (async function* () {
      yield await Promise.resolve(Buffer.from('abc'))
    })()
    await appendToUpload(await enter(zoe), { agentId: zoe.id }, upload_id, 0, body)
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

    const { id } = await sendMessage(await enter(zoe), { to: 'bob', text: 'see', parts: [{ upload: upload_id }] })

    const part = await findPart(storeOf(grid, grid.bob), `${id}.0`)
    expect((await part.bytes(0, 3)).toString()).toBe('abc')
  })

  test('an agent that stays in the old account can answer a moved agent only if the moved agent wrote to it', async () => {
    const other = await signUpAs(grid, email, 'other')
    const { id } = await sendMessage(await enter(zoe), { to: 'mate', text: 'a question' })
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate', 'other'] })

    await sendMessage(await enter(mate), { to: 'zoe', text: 'an answer', replyToMessageId: id })
    for (const [from, to] of [[other, 'zoe'], [mate, 'alice'], [zoe, 'other'], [grid.alice, 'mate']] as const) {
      await expect(sendMessage(await enter(from), { to, text: 'hi' })).rejects.toMatchObject({
        code: 'recipient_not_found',
      })
    }
  })

  test('repeating a send with its idempotency key within a day returns the same response, even after a move', async () => {
    const early = await send('early', 'early')
    grid.clock.now += 2 * hour
    await guard({ ...grid.acme, store: oldAccount() }, 'mate', { direction: 'outbound', config: { phrases: ['stop'] } })
    const sent = await send('once', 'k')
    const blocked = await send('stop', 'blocked').catch((error) => error)
    grid.clock.now += 23 * hour
    await move()

    expect(await send('once', 'k')).toEqual(sent)
    await expect(send('other', 'k')).rejects.toMatchObject({ code: 'idempotency_conflict' })
    expect(blocked.code).toBe('guardrail_blocked')
    await expect(send('stop', 'blocked')).rejects.toThrow(blocked.message)
    expect((await send('early', 'early')).id).not.toBe(early.id)
    const { messages } = await readMessages(await enter(zoe), {})
    expect(messages.map(({ message }) => message)).toEqual(['early', 'once', 'early'])
    // An idempotency key is removed with its message, even if another account stores the message.
    await oldAccount().write(oldAccount().change.retention.removeMessages([sent.id], 1))
    const keys = await rows(grid, 'SELECT key FROM idempotency_keys WHERE account_id = ?', [grid.acme.id])
    expect(keys).toEqual([{ key: 'early' }])
  })

  test('an open task moves with its recipient, and can be continued and completed', async () => {
    const { id } = await askFor(await enter(mate), 'a question', { to: '@zoe', contextId: 'trip' })
    await readMessages(await enter(zoe), {})
    await updateTask(await enter(zoe), { taskId: id, state: 'input-required', text: 'which one?' })
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

    const client = await enter(mate)
    const message = { messageId: 'more', parts: [{ text: 'the red one' }] }
    await continueTask(client, callingAgent(client.actor), { taskId: id, message })
    await updateTask(await enter(zoe), { taskId: id, text: 'an answer' })

    expect(inShort(await eventsOf(client, id))).toEqual([
      ...['submitted', 'working', 'input-required', 'working', 'an answer', 'completed'],
    ])
    const { history } = await getTask(client, id)
    expect(history.map(({ parts }) => parts)).toEqual([
      ...[[{ text: 'a question' }], [{ text: 'which one?' }], [{ text: 'the red one' }]],
    ])
  })

  test('a moved agent can answer a task that it read before the move', async () => {
    const { id } = await askFor(await enter(mate), 'a question', { to: '@zoe' })
    const { messages: [asked], lease } = await readMessages(await enter(zoe), {})
    leaseOf(await enter(zoe), lease!.id).ack()
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

    await sendMessage(await enter(zoe), { to: 'mate', text: 'an answer', replyToMessageId: asked.message_id })
    expect(inShort(await eventsOf(await enter(mate), id))).toEqual(['submitted', 'working', 'an answer', 'completed'])
  })

  test("moving a task's client cancels its open tasks with a reason, and keeps all of their messages", async () => {
    const client = await enter(zoe)
    const { id } = await askFor(client, 'a question', { to: '@mate' })
    const followed = eventsOf(client, id)
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

    expect(inShort(await followed)).toEqual(['submitted', 'canceled'])
    const [event] = await rows(grid, `SELECT reason FROM task_events WHERE account_id = ? AND state = 'canceled'`, [
      zoe.home,
    ])
    expect(event.reason).toBe('The agent that asked was moved to another account.')
    expect((await readMessages(await enter(mate), {})).messages).toMatchObject([{ message: 'a question' }])
    await expect(updateTask(await enter(mate), { taskId: id, text: 'late' })).rejects.toMatchObject({
      code: 'unsupported_operation',
    })
    await sendMessage(await enter(mate), { to: 'zoe', text: 'here it is' })
    expect((await readMessages(await enter(zoe), {})).messages).toMatchObject([{ message: 'here it is' }])
  })

  test.each(['/a2a/v1/grid', '/a2a/v1/agents/mate'])(
    'a repeated A2A send at %s gets the original response even after the claim',
    async (path) => {
      const configuration = { returnImmediately: true }
      const send = async (text: string, isNow = true) => {
        const body = send10({ parts: [{ text }], metadata: { to: '@mate' } }, isNow ? { configuration } : {})
        return (await postA2a(grid, zoe.key, body, { 'Idempotency-Key': `${isNow}` }, path)).body
      }
      const { task } = (await send('a question')).result
      const waited = (await send('another', false)).result
      await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

      const again = (await send('a question')).result.task
      expect(again).toMatchObject({ id: task.id, contextId: task.contextId, history: task.history })
      expect(again.status.state).toBe('TASK_STATE_CANCELED')
      const repeated = (await send('another', false)).result
      expect(repeated.task?.id).toBe(waited.task?.id)
      expect(repeated.message?.messageId).toBe(waited.message?.messageId)
      expect((await send('other words')).error.data[0].reason).toBe('IDEMPOTENCY_CONFLICT')
    },
  )

  test('channels and access lists stay in the old account, and the alias belongs only to the new account', async () => {
    await createChannel(oldAccount(), { name: 'beans', members: ['zoe', 'mate'] })
    await oldAccount().write([oldAccount().change.agents.addAccess(zoe.id, ['alice'])])
    await move()

    expect(await oldAccount().read.channels.byName('beans', zoe.id)).toMatchObject({ isMember: 1 })
    for (const table of ['channels', 'channel_members', 'agent_access']) {
      expect(await rows(grid, `SELECT 1 FROM ${table} WHERE account_id = ?`, [grid.acme.id])).toEqual([])
    }
    await expect(sendMessage(await enter(zoe), { to: '#beans', text: 'hi' })).rejects.toMatchObject({
      code: 'channel_not_found',
    })
    await deleteAgent(grid.acme.store, 'zoe')
    await expect(createAgent(oldAccount(), { alias: 'zoe' })).rejects.toMatchObject({ code: 'alias_taken' })
    expect(await createAgent(grid.acme.store, { alias: 'zoe' })).toMatchObject({ apiKey: expect.any(String) })
  })

  test('a claim that fails at any statement changes nothing, and the next claim moves everything', async () => {
    await send('leased')
    await send('unread', 'k')
    const { id } = await askFor(await enter(mate), 'a question', { to: '@zoe' })
    await readMessages(await enter(zoe), { limit: 1 })
    const { claims } = grid.store.global
    const made = claims.move
    const all = async () => [
      await dump(grid, { ...grid.acme, id: zoe.home }, ['activity', 'memberships']),
      await dump(grid, grid.acme, ['activity', 'memberships']),
    ]
    const before = await all()
    for (let place = 0, count = 1; place <= count; place++) {
      claims.move = async (...given) => {
        const statements = await made(...given)
        count = statements.length
        return statements.toSpliced(place, 0, stop)
      }
      await expect(move()).rejects.toMatchObject({ code: 'write_conflict' })
      expect(await all()).toEqual(before)
    }
    claims.move = made
    await claimAgents(grid, zoe.link, { into: grid.acme, keep: ['mate'] })

    const { messages } = await readMessages(await enter(zoe), {})
    expect(messages.map(({ message }) => message)).toEqual(['leased', 'unread', 'a question'])
    await updateTask(await enter(zoe), { taskId: id, text: 'an answer' })
    expect((await getTask(await enter(mate), id)).status.state).toBe('completed')
  })

  test.each<[string, string, () => string, string]>([
    [
      'the user owns the other account',
      `UPDATE memberships SET role = 'admin' WHERE account_id = ?`,
      () => grid.acme.id,
      'write_conflict',
    ],
    [
      'the email address is verified',
      'UPDATE users SET email_verified_at = NULL WHERE email = ?',
      () => email,
      'write_conflict',
    ],
    [
      'no agent was added',
      `UPDATE agents SET deleted_at = NULL WHERE account_id = ? AND alias = 'gone'`,
      () => zoe.home,
      'claim_changed',
    ],
    [
      'the account is not claimed',
      `UPDATE accounts SET state = 'claimed' WHERE id = ?`,
      () => zoe.home,
      'link_expired',
    ],
    [
      'the other account has room for the skills',
      `INSERT INTO skills (account_id, id, name, created_at)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        SELECT ?, 'skill ' || i, 'skill ' || i, 0 FROM n`,
      () => grid.acme.id,
      'invalid_input',
    ],
  ])('a claim is committed only if %s', async (_, change, argument, code) => {
    await createAgent(oldAccount(), { alias: 'gone' })
    await deleteAgent(oldAccount(), 'gone')
    const { claims } = grid.store.global
    const made = claims.move
    claims.move = async (...given) => {
      await rows(grid, change, [argument()])
      return made(...given)
    }

    await expect(move()).rejects.toMatchObject({ code })
    expect(await grid.acme.store.read.agents.byAlias('zoe')).toBeUndefined()
  })

  const oldAccount = () => grid.store.account(zoe.home, { type: 'system', job: 'test' })
  const move = () => claimAgents(grid, zoe.link, { into: grid.acme })
  const enter = ({ key }: { key: string }) => createAuthenticator(grid.store)(`Bearer ${key}`)
  const send = async (text: string, idempotencyKey?: string) =>
    await sendMessage(await enter(mate), { to: 'zoe', text, idempotencyKey })
})
