/** Leases of runners when the grid is killed. See docs/delivery.md, "Leases of runners". */
import { expect, test } from 'vitest'
import { GridCallError } from '../../src/clients/grid-call.ts'
import { GridClient, type InboxMessage, type Lease, type NextLease } from '../../src/clients/grid-client.ts'
import { startProgram, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { pause } from './load.ts'

const dying = 'test/support/dying-server.ts'
const ahead = 'test/support/ahead-server.ts'

test.each([
  ['the lease', '^INSERT INTO leases', { isAnswered: false }],
  ['the answer that acks', '^INSERT INTO idempotency_keys', { isAnswered: true }],
  ['the ack', '^UPDATE deliveries SET lease_id', { isAnswered: false }],
])(
  'a kill -9 between the commit of %s and its response loses nothing, and repeats nothing',
  async (_, fatal, { isAnswered }) => {
    const database = temporaryDatabase()
    const env = { DATABASE_URL: database.url }
    const { agents: [alice, bob] } = await seedAgents(database.url, ['alice', 'bob'])
    const first = await startProgram(dying, [fatal], env)
    const at = (url: string, key: string) => new GridClient({ url, key })
    await sendPlain(first.url, alice.key, '@bob', 'question')
    const before = at(first.url, bob.key)
    const answer = (leaseId: string) => ({ to: '@alice', message: 'answer', acks: { lease_id: leaseId }, next: {} })

    let leaseId: string | undefined
    await expect((async () => {
      leaseId = (await before.lease({ seconds: 600 })).lease_id!
      if (isAnswered) await sendPlain(first.url, alice.key, '@bob', 'the next question')
      if (isAnswered) await before.send(answer(leaseId), 'k')
      else await before.ack(leaseId)
    })()).rejects.toBeInstanceOf(GridCallError)
    await first.ended
    const second = await startServe('node', env)
    const [asAlice, asBob] = [at(second.url, alice.key), at(second.url, bob.key)]

    // No other runner gets the message, whatever the process did before it died.
    expect((await asBob.lease()).lease_id).toBeNull()
    expect((await asBob.peek()).unread).toBe(0)
    if (leaseId !== undefined) {
      await expect(asBob.ack(leaseId)).rejects.toMatchObject({ code: 'stale_lease' })
      await expect(asBob.send(answer(leaseId), 'other')).rejects.toMatchObject({ code: 'stale_lease' })
    }
    if (isAnswered) {
      const again = await asBob.send(answer(leaseId!), 'k')
      expect(again).toMatchObject({ recipient: '@alice', next: { messages: [{ message: 'the next question' }] } })
    }
    expect((await asAlice.peek()).unread).toBe(isAnswered ? 1 : 0)
    await second.stop()
    database.remove()
  },
  600_000,
)

/** Maximum number of kills: a message is parked at its fifth release, and each kill may release it once. */
const kills = 4

test('runners on a grid that is killed repeatedly answer every question exactly once', async () => {
  const database = temporaryDatabase()
  const { agents: [alice, bob] } = await seedAgents(database.url, ['alice', 'bob'])
  // Each start sets the clock 31 s ahead, so earlier leases have expired and their messages are available immediately.
  const start = (n: number) => startProgram(ahead, [String(n * 31_000)], { DATABASE_URL: database.url })
  let server = await start(0)
  // An aborted call also releases its messages, so with a shorter limit than the default, a slow disk would park them.
  const clientOf = ({ key }: { key: string }) => new GridClient({ url: server.url, key })
  const questions = new Map<string, number>()
  for (let n = 0; n < 40; n++) questions.set(await sendPlain(server.url, alice.key, '@bob', `question ${n}`), 0)

  let isOver = false
  let leased = 0
  const runner = async () => {
    const limits = { limit: 2, seconds: 30 }
    for (let held: Lease | undefined; !isOver;) {
      const { lease_id: id, messages } = held ?? await clientOf(bob).lease(limits).catch(nothing)
      held = undefined
      leased += messages.length
      for (const message of messages) {
        held = await answer(message, id!, message === messages.at(-1) ? limits : undefined)
      }
      if (messages.length === 0) await pause(50)
    }
  }
  /** Sends an answer until the grid responds. A stale lease means that another runner has the messages. */
  const answer = async ({ message_id }: InboxMessage, lease_id: string, next: NextLease | undefined) => {
    const acks = { lease_id, message_ids: [message_id] }
    const request = { to: '@alice', message: 'answer', reply_to_message_id: message_id, acks, next }
    const sent = await waitFor('an answer of the grid', async () => {
      return await clientOf(bob).send(request, `${lease_id} ${message_id}`).catch((error) => {
        return error.code === 'stale_lease' && { next: undefined }
      })
    })
    return sent.next && 'messages' in sent.next ? sent.next : undefined
  }
  const runners = [runner(), runner(), runner()]
  for (let n = 1; n <= kills; n++) {
    const before = leased
    await waitFor('more leases', () => leased > before || leased >= questions.size)
    await pause(Math.random() * 100)
    server.signal('SIGKILL')
    await server.ended
    server = await start(n)
  }

  await waitFor('the last answer', async () => {
    const { messages, lease_id } = await clientOf(alice).lease({ limit: 50, seconds: 600 }).catch(nothing)
    for (const { reply_to_message_id: id } of messages) questions.set(id!, questions.get(id!)! + 1)
    if (lease_id !== null) await clientOf(alice).ack(lease_id)
    return [...questions.values()].every((answers) => answers > 0)
  })
  isOver = true
  await Promise.all(runners)
  const rest = await clientOf(alice).peek()
  await server.stop()
  database.remove()

  expect(rest.unread).toBe(0)
  expect([...questions.values()].filter((answers) => answers !== 1)).toEqual([])
}, 600_000)

const nothing = () => ({ lease_id: null, expires_at: null, messages: [] as InboxMessage[], remaining: 0 })

/** Sends without an idempotency key, so that the process does not die at the statement that stores keys. */
async function sendPlain(url: string, key: string, to: string, message: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ to, message }),
  })
  return (await response.json()).message_id
}
