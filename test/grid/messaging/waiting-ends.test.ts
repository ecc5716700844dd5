/** Events other than messages and timeouts that end a wait or a stream. A busy grid does not end them. */
import { beforeEach, expect, test } from 'vitest'
import { type Authenticate, createAuthenticator } from '../../../src/auth/bearer.ts'
import { reissueKey } from '../../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { waitForMessages, watchInbox } from '../../../src/grid/messaging/wait-for-messages.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { connect } from '../../../src/store/driver/remote-client.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { sendMessage } from '../../support/messaging.ts'
import { claimAgents, signUpAs } from '../../support/signup.ts'
import { tripwire } from '../../support/tripwire.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid
let authenticate: Authenticate
/** Each commit waits for this promise before it starts. */
let held: Promise<void>
/** The number of commits that have started, and the number of leases waiting for one. */
let commits: number
let leases: number
let idle: ReturnType<typeof followIdle>
beforeEach(async () => {
  held = Promise.resolve()
  commits = leases = 0
  grid = await testGrid({
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      if (/^UPDATE deliveries SET state = 'read', lease_id = /.test(sql)) leases++
    },
    connect(config) {
      const client = connect(config)
      const batch = client.batch.bind(client)
      client.batch = async (...group) => {
        commits++
        await held
        return await batch(...group)
      }
      return client
    },
  })
  authenticate = createAuthenticator(grid.store)
  idle = followIdle(grid.store)
})

test('a wait ends immediately when its agent is deleted or its key is replaced', async () => {
  const [bob, alice] = [await entered(grid.bob.key), await entered(grid.alice.key)]
  const waits = [bob, alice].map(({ account, check }) => waitForMessages(account, {}, { seconds: 50, check }))
  const ends = waits.map((wait) => expect(wait).rejects.toMatchObject({ code: 'unauthenticated' }))
  await idle(2)

  await deleteAgent(grid.acme.store, 'bob')
  await reissueKey(grid.acme.store, 'alice')

  await Promise.all(ends)
})

test('a wait notices that its key was revoked by another process', async () => {
  const { account, check } = await entered(grid.bob.key)
  const wait = waitForMessages(account, {}, { seconds: 50, check, lookEveryMs: 20 })
  const end = expect(wait).rejects.toMatchObject({ code: 'unauthenticated' })
  await idle(1)

  const { write, change } = grid.acme.store
  await write([change.keys.revokeOfAgent(grid.bob.id, grid.clock.now)])

  await end
})

test("an agent's waits and streams end when a claim moves it, and new ones work in its new account", async () => {
  const { key: api_key, link } = await signUpAs(grid, 'zoe@new.example', 'zoe')
  const { account, check } = await entered(api_key)
  const { stream } = await listening(api_key)
  const wait = waitForMessages(account, {}, { seconds: 50, check })
  const end = expect(wait).rejects.toMatchObject({ code: 'unavailable' })
  const next = stream.next()
  await idle(2)

  await claimAgents(grid, link, { into: grid.evil })

  await end
  expect(await next).toEqual({ done: true, value: undefined })
  await sendMessage((await entered(grid.eve.key)).account, { to: 'zoe', text: 'welcome' })
  expect((await waitForMessages((await entered(api_key)).account, {}, { seconds: 1 })).messages)
    .toMatchObject([{ message: 'welcome' }])
})

test('a wait that finds the grid busy continues, and gets its messages', async () => {
  const { account } = await entered(grid.bob.key)
  await sendMessage((await entered(grid.alice.key)).account, { to: 'bob', text: 'hello' })
  const release = await holdCommits()
  const wait = waitForMessages(account, {}, { seconds: 50 })
  await refuseLease(account)
  release()

  expect((await wait).messages).toMatchObject([{ message: 'hello' }])
})

async function entered(key: string) {
  const account = await authenticate(`Bearer ${key}`)
  return { account, check: () => authenticate(`Bearer ${key}`, account) }
}

/** Opens a stream and waits for its first heartbeat. */
async function listening(key: string) {
  const { account, check } = await entered(key)
  const connection = new AbortController()
  const stream = watchInbox(account, { heartbeatMs: 15_000, check, caller: connection })!
  expect(await stream.next()).toMatchObject({ value: 'heartbeat' })
  return { stream }
}

/** Starts a commit, and holds it and all later ones until the returned function is called. */
async function holdCommits(): Promise<() => void> {
  let release = () => {}
  held = new Promise((resolve) => release = resolve)
  const { write, change } = grid.acme.store
  const before = commits
  write([change.agents.markSeen(grid.alice.id, grid.clock.now)]).catch(() => {})
  await waitFor('the commit that hangs', () => commits > before)
  leases = 0
  return release
}

/**
 * Waits for lease number `wanted` since `holdCommits()`. Then makes the write queue refuse, as overdue, all units that
 * wait for a commit.
 */
async function refuseLease(account: AccountStore, wanted = 1): Promise<void> {
  await waitFor(`lease ${wanted} that waits for its commit`, () => leases >= wanted)
  const write = account.write([account.change.agents.markSeen(grid.bob.id, 1)])
  grid.clock.now += 3_000
  await expect(write).rejects.toMatchObject({ code: 'unavailable' })
}
