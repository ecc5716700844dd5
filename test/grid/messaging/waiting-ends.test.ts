/** What ends a wait or a stream besides mail and time, and what does not: a grid that is busy. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bearer, bearer } from '../../../src/auth/bearer.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { reissueKey } from '../../../src/grid/agents/agent-keys.ts'
import { mergeClaim, openClaim } from '../../../src/grid/accounts/claim.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import { awaitMessages, listenForMail } from '../../../src/grid/messaging/waiting.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { connect } from '../../../src/store/driver/local-client.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { person } from '../../support/people.ts'

let grid: TestGrid
let authenticate: Bearer
/** Commits of the database wait for it. */
let gate: Promise<void>
beforeEach(async () => {
  gate = Promise.resolve()
  grid = await testGrid({
    connect(config) {
      const client = connect(config)
      const batch = client.batch.bind(client)
      client.batch = async (...group) => {
        await gate
        return await batch(...group)
      }
      return client
    },
  })
  authenticate = bearer(grid.store)
})
afterEach(() => grid.close())

test('a wait ends at once when its agent is deleted, and when its key is replaced', async () => {
  const [bob, alice] = [await entered(grid.bob.key), await entered(grid.alice.key)]
  const waits = [bob, alice].map(({ account, check }) => awaitMessages(account, {}, { seconds: 50, check }))
  const ends = waits.map((wait) => expect(wait).rejects.toMatchObject({ code: 'unauthenticated' }))
  await sleep(20)

  await deleteAgent(grid.acme.store, 'bob')
  await reissueKey(grid.acme.store, 'alice')

  await Promise.all(ends)
})

test('a stream ends at once when its agent is deleted', async () => {
  const { stream } = await listening(grid.bob.key)
  const next = stream.next()
  await sleep(20)

  await deleteAgent(grid.acme.store, 'bob')

  expect(await next).toEqual({ done: true, value: undefined })
})

test('a wait finds by itself that its key was revoked at another process', async () => {
  const { account, check } = await entered(grid.bob.key)
  const wait = awaitMessages(account, {}, { seconds: 50, check, lookEveryMs: 20 })
  const end = expect(wait).rejects.toMatchObject({ code: 'unauthenticated' })
  await sleep(50)

  const { write, change } = grid.acme.store
  await write([change.keys.revokeOfAgent(grid.bob.id, grid.clock.now)])

  await end
})

test('a wait finds by itself what another process gave back', async () => {
  const { account, check } = await entered(grid.bob.key)
  await sendMessage((await entered(grid.alice.key)).account, { to: 'bob', text: 'returned' })
  const { handOut } = await readMessages(account, {})
  const wait = awaitMessages(account, {}, { seconds: 50, check, lookEveryMs: 20 })
  await sleep(50)

  await account.write(account.change.handOuts.giveBack(grid.bob.id, handOut!, grid.clock.now))

  expect((await wait).messages).toMatchObject([{ message: 'returned', redelivered: true }])
})

test('an agent that is moved by a claim is sent to look again in its new account', async () => {
  const zoe = 'zoe@new.example'
  const response = await grid.post('/api/v1/agentic-signup', { owner_email: zoe, alias: 'zoe' })
  const { api_key, trial } = await response.json()
  const token = trial.claim_url.split('/').at(-1)
  const { id, actor } = await person(grid, { email: zoe, role: 'owner', account: grid.evil })
  const { account, check } = await entered(api_key)
  const { stream } = await listening(api_key)
  const wait = awaitMessages(account, {}, { seconds: 50, check })
  const end = expect(wait).rejects.toMatchObject({ code: 'unavailable' })
  const next = stream.next()
  await sleep(20)

  const { agents } = await openClaim(grid.store, token)
  const claimant = { user: { id, email: zoe, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
  const into = { id: grid.evil.id, account: grid.store.account(grid.evil.id, actor('owner')) }
  await mergeClaim(grid.store, token, claimant, into, { keep: agents.map((agent) => agent.id), discard: [] }, null)

  await end
  expect(await next).toEqual({ done: true, value: undefined })
  await sendMessage((await entered(grid.eve.key)).account, { to: 'zoe', text: 'welcome' })
  expect((await awaitMessages((await entered(api_key)).account, {}, { seconds: 1 })).messages)
    .toMatchObject([{ message: 'welcome' }])
})

test('a wait that meets a busy grid goes on waiting, and gets its mail', async () => {
  const { account } = await entered(grid.bob.key)
  await sendMessage((await entered(grid.alice.key)).account, { to: 'bob', text: 'hello' })
  const release = await holdCommits()
  const wait = awaitMessages(account, {}, { seconds: 50 })
  await refusal(account)
  release()

  expect((await wait).messages).toMatchObject([{ message: 'hello' }])
})

test('a wait whose time is over says that the grid is busy', async () => {
  const { account } = await entered(grid.bob.key)
  await sendMessage((await entered(grid.alice.key)).account, { to: 'bob', text: 'hello' })
  const release = await holdCommits()
  const wait = expect(awaitMessages(account, {}, { seconds: 0.05 })).rejects.toMatchObject({ code: 'unavailable' })
  // At its beginning, and again at its end.
  await refusal(account)
  await sleep(20)
  await refusal(account)
  release()

  await wait
})

async function entered(key: string) {
  const account = await authenticate(`Bearer ${key}`)
  return { account, check: () => authenticate(`Bearer ${key}`, account) }
}

/** A stream that has said that it is alive. */
async function listening(key: string) {
  const { account, check } = await entered(key)
  const departure = new AbortController()
  const stream = listenForMail(account, { heartbeatMs: 15_000, check, departure })!
  expect(await stream.next()).toMatchObject({ value: 'alive' })
  return { stream }
}

/** One commit hangs until the answer is called, and all others wait behind it. */
async function holdCommits(): Promise<() => void> {
  let release = () => {}
  gate = new Promise((resolve) => release = resolve)
  const { write, change } = grid.acme.store
  write([change.agents.seen(grid.alice.id, grid.clock.now)]).catch(() => {})
  await sleep(5)
  return release
}

/** All that waits for a commit is overdue, as the queue sees it, and is refused. */
async function refusal(account: AccountStore): Promise<void> {
  await sleep(20)
  const write = account.write([account.change.agents.seen(grid.bob.id, 1)])
  grid.clock.now += 3_000
  await expect(write).rejects.toMatchObject({ code: 'unavailable' })
}
