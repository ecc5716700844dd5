/** What ends a wait besides mail and time ends it at once, in whichever process it happened. Security A10. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { bearer } from '../../src/auth/bearer.ts'
import { reissueKey } from '../../src/grid/agents/agent-keys.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { mergeClaim, openClaim } from '../../src/grid/accounts/claim.ts'
import { revokeGrant, revokeOwnGrant } from '../../src/grid/oauth/grants.ts'
import { giveBack } from '../../src/grid/messaging/leases.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { leaveAccount } from '../../src/grid/people/team.ts'
import { awaitMessages } from '../../src/grid/messaging/waiting.ts'
import { hashForLookup } from '../../src/auth/secrets.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { sweep } from '../../src/worker/retention.ts'
import { day } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import { readEvents } from '../support/events.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { gridPath, wireRequest } from '../support/mcp.ts'
import { accessTokenOf } from '../support/oauth-token.ts'
import { person } from '../support/people.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'

/** With margin for a loaded machine; 15 s would be the next look of a wait by itself. */
const atOnceMs = 2_000

let grid: TestGrid
/** Where it is waited. */
let other: Store
let agents = 0

/** A way for a credential to end: who waits, and what is done to it. */
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
  async 'its person revokes the grant'() {
    const { token, grantId, user } = await oauthAgent()
    return { key: token, end: () => revokeOwnGrant(grid.store, { user, sessionId: 'test' }, grantId, null) }
  },
  async 'its person leaves the account'() {
    const { token, user } = await oauthAgent()
    return { key: token, end: () => leaveAccount(grid.store.account(grid.acme.id, user.actor('member'))) }
  },
  async 'its access token is revoked'() {
    const { token } = await oauthAgent()
    const { tokens } = grid.store.global.oauth
    const revoke = () => tokens.revoke(grid.acme.id, hashForLookup(token), grid.clock.now)
    return { key: token, end: () => grid.store.write([revoke()]) }
  },
  async 'the agent that a grant was for is deleted'() {
    const { token, alias } = await oauthAgent()
    return { key: token, end: () => deleteAgent(grid.acme.store, alias) }
  },
  async 'it is claimed into another account'() {
    const { key, token, email } = await signedUp()
    const { id, actor } = await person(grid, { email, role: 'owner', account: grid.evil })
    const claimant = { user: { id, email, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
    const into = { id: grid.evil.id, account: grid.store.account(grid.evil.id, actor('owner')) }
    const keep = (await openClaim(grid.store, token)).agents.map((agent) => agent.id)
    return { key, end: () => mergeClaim(grid.store, token, claimant, into, { keep, discard: [] }, null) }
  },
  async 'nobody claimed it in time'() {
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
    other = await openStore(grid.deps, { inspect: tripwire })
  })
  afterAll(async () => {
    await other.close()
    await grid.close()
    await server.stop()
  })

  everyEnd()

  test('a wait gets what another process gave back', async () => {
    const bob = await bearer(grid.store)(`Bearer ${grid.bob.key}`)
    await sendMessage(await bearer(grid.store)(`Bearer ${grid.alice.key}`), { to: 'bob', text: 'returned' })
    const { handOut } = await readMessages(bob, {})
    const reading = awaitMessages(await bearer(other)(`Bearer ${grid.bob.key}`), {}, { seconds: 10 })
    await sleep(500)
    const startedAt = performance.now()
    await giveBack(bob, handOut!)

    expect((await reading).messages).toMatchObject([{ message: 'returned', redelivered: true }])
    expect(performance.now() - startedAt).toBeLessThan(atOnceMs)
  })
})

describe('in the one process of a local file', () => {
  beforeAll(async () => {
    grid = await testGrid()
    other = grid.store
  })
  afterAll(() => grid.close())

  everyEnd()

  test('calls are few: the newest 1,000 are kept, and one batch given back is one call', async () => {
    const bob = await bearer(grid.store)(`Bearer ${grid.bob.key}`)
    const alice = await bearer(grid.store)(`Bearer ${grid.alice.key}`)
    for (let n = 0; n < 3; n++) await sendMessage(alice, { to: 'bob', text: `${n}` })
    const { handOut } = await readMessages(bob, {})
    const before = await newestCall()
    await giveBack(bob, handOut!)
    const after = await newestCall()
    const { write } = grid.store
    await write(
      Array.from({ length: 1_200 }, () => ({ sql: "INSERT INTO wake_calls (agent_id) VALUES ('x')", args: [] })),
    )

    expect(after - before).toBe(1)
    expect((await rows(grid, 'SELECT count(*) AS n FROM wake_calls'))[0].n).toBe(1_000)
  })

  test('what is read and sent calls nobody', async () => {
    const before = await newestCall()
    await sendMessage(await bearer(grid.store)(`Bearer ${grid.alice.key}`), { to: 'bob', text: 'hi' })
    await readMessages(await bearer(grid.store)(`Bearer ${grid.bob.key}`), {})

    expect(await newestCall()).toBe(before)
  })
})

function everyEnd(): void {
  test.each(Object.entries(ends))('waits and streams end at once when %s', async (_, prepare) => {
    const { key, end } = await prepare()
    const authorization = `Bearer ${key}`
    const account = await bearer(other)(authorization)
    const wait = awaitMessages(account, {}, { seconds: 50, check: () => bearer(other)(authorization, account) })
      .then(() => 'answered', (error) => error.code)
    const streams = await openStreams(authorization)
    await sleep(500)

    const startedAt = performance.now()
    await end()
    const code = await wait
    await Promise.all(streams.map(async (stream) => {
      // What it says in the end names no mail.
      for (let frame; (frame = await stream.frame()) !== undefined;) expect(frame).not.toMatch(/wake|updated/)
    }))

    expect(['unauthenticated', 'unavailable']).toContain(code)
    expect(performance.now() - startedAt).toBeLessThan(atOnceMs)
    expect([other.waiting.reads.count, other.waiting.streams.count]).toEqual([0, 0])
  })
}

/** The three kinds of streams, at the process where it is waited, each after its first frame. */
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
  // For keys alone: no OAuth token was issued for it.
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
  return { alias, user, ...await accessTokenOf(grid, user.id, grid.acme.id, id) }
}

async function signedUp() {
  const alias = `agent-${agents++}`
  const email = `${alias}@new.example`
  const response = await grid.post('/api/v1/agentic-signup', { owner_email: email, alias })
  const { api_key: key, trial } = await response.json()
  return { key, email, token: trial.claim_url.split('/').at(-1) as string }
}

async function newestCall(): Promise<number> {
  return (await grid.store.global.arrivals.newest()).calls
}
