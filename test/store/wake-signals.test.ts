/** A credential that ends also ends its waits and streams immediately, in any process. docs/security.md, "Overload". */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { reissueKey } from '../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { waitForMessages } from '../../src/grid/messaging/wait-for-messages.ts'
import { revokeGrant, revokeOwnGrant } from '../../src/grid/oauth/grants.ts'
import { leaveAccount } from '../../src/grid/people/team.ts'
import { hashForLookup } from '../../src/lib/secrets.ts'
import { day } from '../../src/lib/time.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { followLog, gridFollowers } from '../../src/worker/followers.ts'
import { sweep } from '../../src/worker/retention.ts'
import { rows } from '../support/database.ts'
import { readEvents } from '../support/events.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { followIdle } from '../support/idle.ts'
import { gridPath, wireRequest } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'
import { accessTokenFor } from '../support/oauth-token.ts'
import { person } from '../support/people.ts'
import { claimAgents, signUpAs } from '../support/signup.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'
import { waitFor } from '../support/wait-for.ts'

/** The limit has a margin for a loaded machine. Without a wake signal, a wait checks again only after 15 s. */
const atOnceMs = 2_000

let grid: TestGrid
/** The waiting process's store. */
let other: Store
let idle: ReturnType<typeof followIdle>
let agents = 0
/** How often the database was polled for changes by other processes. */
let looks = 0

/** The ways in which a credential can end: the waiting key, and the action that ends it. */
const ends: Record<string, () => Promise<{ key: string; end(): Promise<unknown> }>> = {
  async 'its agent is deleted'() {
    const { alias, key } = await newAgent()
    return { key, end: () => deleteAgent(grid.acme.store, alias) }
  },
  async 'its key is replaced'() {
    const { alias, key } = await newAgent()
    return { key, end: () => reissueKey(grid.acme.store, alias) }
  },
  async 'an admin revokes its grant'() {
    const { token, grantId } = await oauthAgent()
    return { key: token, end: () => revokeGrant(grid.acme.store, grantId) }
  },
  async 'its user revokes the grant'() {
    const { token, grantId, user } = await oauthAgent()
    return { key: token, end: () => revokeOwnGrant(grid.store, { user, sessionId: 'test' }, grantId, null) }
  },
  async 'its user leaves the account'() {
    const { token, user } = await oauthAgent()
    return { key: token, end: () => leaveAccount(grid.store.account(grid.acme.id, user.actor('member'))) }
  },
  async 'its access token is revoked'() {
    const { token } = await oauthAgent()
    const { tokens } = grid.store.global.oauth
    const revoke = () => tokens.revoke(grid.acme.id, hashForLookup(token), grid.clock.now)
    return { key: token, end: () => grid.store.write([revoke()]) }
  },
  async 'the agent of its grant is deleted'() {
    const { token, alias } = await oauthAgent()
    return { key: token, end: () => deleteAgent(grid.acme.store, alias) }
  },
  async 'its agent is moved to another account by a claim'() {
    const { key, link } = await signedUp()
    return { key, end: () => claimAgents(grid, link, { into: grid.evil }) }
  },
  async 'its account is not claimed in time'() {
    const { key } = await signedUp()
    return {
      key,
      end: async () => {
        grid.clock.now += 8 * day
        await sweep(grid.store)
      },
    }
  },
}

describe('in another process on libsql-server', () => {
  let server: Sqld
  beforeAll(async () => {
    server = await startSqld()
    grid = await testGrid({ url: server.url })
    other = await openStore(grid.deps, { inspect })
    idle = followIdle(other)
  })
  afterAll(async () => {
    await other.close()
    await grid.close()
    await server.stop()
  })

  everyEnd()

  test('a wait receives a message that another process released', async () => {
    const bob = await createAuthenticator(grid.store)(`Bearer ${grid.bob.key}`)
    await sendMessage(await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`), {
      to: 'bob',
      text: 'release_count',
    })
    const { lease } = await readMessages(bob, {})
    const reading = waitForMessages(await createAuthenticator(other)(`Bearer ${grid.bob.key}`), {}, { seconds: 10 })
    await idleAndLookedFor(1)
    const startedAt = performance.now()
    await leaseOf(bob, lease!.id).release()

    expect((await reading).messages).toMatchObject([{ message: 'release_count', redelivered: true }])
    expect(performance.now() - startedAt).toBeLessThan(atOnceMs)
  })
})

describe('in the only process of a local file', () => {
  beforeAll(async () => {
    grid = await testGrid({ inspect })
    other = grid.store
    idle = followIdle(other)
  })

  everyEnd()

  test('releasing a lease writes one log row, which is removed when every follower has passed it', async () => {
    const bob = await createAuthenticator(grid.store)(`Bearer ${grid.bob.key}`)
    const alice = await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`)
    for (let n = 0; n < 3; n++) await sendMessage(alice, { to: 'bob', text: `${n}` })
    const { lease } = await readMessages(bob, {})
    const before = await newestSignal()
    await leaseOf(bob, lease!.id).release()
    const after = await newestSignal()
    expect(after - before).toBe(1)

    const { pulses } = grid.store.global
    const left = async () => (await rows(grid, 'SELECT count(*) AS n FROM log'))[0].n
    await rows(grid, 'UPDATE log SET at = at - 61000')
    const followers = gridFollowers(grid.store).map(({ name }) => name)
    await grid.store.write([pulses.trim(followers)])
    expect(await left()).toBeGreaterThan(0)
    await followLog(grid.store)
    // Simulates an unregistered feature's follower that kept an old position.
    await rows(grid, "UPDATE projections SET seq = 0 WHERE name = 'task notices'")
    await grid.store.write([pulses.trim(followers)])
    expect(await left()).toBeGreaterThan(0)
    await grid.store.write([pulses.trim(followers.filter((name) => name !== 'task notices'))])
    expect(await left()).toBe(0)
  })
})

function everyEnd(): void {
  test.each(Object.entries(ends))('waits and streams end immediately when %s', async (_, prepare) => {
    const { key, end } = await prepare()
    const authorization = `Bearer ${key}`
    const authenticate = createAuthenticator(other)
    const account = await authenticate(authorization)
    const wait = waitForMessages(account, {}, { seconds: 50, check: () => authenticate(authorization, account) })
      .then(() => 'answered', (error) => error.code)
    const streams = await openStreams(authorization)
    await idleAndLookedFor(1 + streams.length)

    const startedAt = performance.now()
    await end()
    const code = await wait
    await Promise.all(streams.map(async (stream) => {
      // The last frames must not announce messages.
      for (let frame; (frame = await stream.frame()) !== undefined;) expect(frame).not.toMatch(/wake|updated/)
    }))

    expect(['unauthenticated', 'unavailable']).toContain(code)
    expect(performance.now() - startedAt).toBeLessThan(atOnceMs)
    expect([other.waiting.reads.count, other.waiting.streams.count]).toEqual([0, 0])
  })
}

/** Resolves when this many reads and streams are idle and the database has then been polled once more. */
async function idleAndLookedFor(count: number): Promise<void> {
  await idle(count)
  const before = looks
  await waitFor('the next look at what other processes did', () => looks > before)
}

function inspect(sql: string, crossAccountQuery: string | undefined): void {
  tripwire(sql, crossAccountQuery)
  if (crossAccountQuery === 'pulse') looks++
}

/** Opens the three kinds of streams at the waiting process, and reads each stream's first frame. */
async function openStreams(authorization: string) {
  const app = createApp(other)
  const open = async (path: string, init: RequestInit) => {
    const url = new URL(path, grid.deps.config.baseUrl).href
    const response = await app.request(url, init, { remoteAddress: '203.0.113.7' })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const events = readEvents(response)
    await events.frame()
    return events
  }
  const listen = wireRequest('modern', 'subscriptions/listen', {
    notifications: { resourceSubscriptions: ['grid://inbox'] },
  })
  const streams = [
    open(gridPath, { headers: { Authorization: authorization, Accept: 'text/event-stream' } }),
    open(gridPath, {
      method: 'POST',
      headers: { ...listen.headers, Authorization: authorization },
      body: JSON.stringify(listen.body),
    }),
  ]
  // OAuth tokens are not issued for the wake stream, so it takes only keys.
  if (authorization.includes('grid_agt_')) {
    streams.push(open('/api/agents/wake-stream', { headers: { Authorization: authorization } }))
  }
  return await Promise.all(streams)
}

function newAgent() {
  return grid.acme.agent(`agent-${agents++}`)
}

async function oauthAgent() {
  const { id, alias } = await newAgent()
  const user = await person(grid, { role: 'member' })
  return { alias, user, ...await accessTokenFor(grid, user.id, grid.acme.id, id) }
}

function signedUp() {
  const alias = `agent-${agents++}`
  return signUpAs(grid, `${alias}@new.example`, alias)
}

async function newestSignal(): Promise<number> {
  return (await grid.store.global.pulses.read()).events
}
