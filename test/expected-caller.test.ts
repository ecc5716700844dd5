/**
 * With a remote database, a known agent is assumed to be unchanged, and its lookup shares the request of the first
 * reads. Every change of a credential by another process applies to the next call of every verb: the response equals
 * the one of a process that has never seen the credential. See docs/security.md, "Keys and tokens".
 */
import { createClient } from '@libsql/client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { activityRow } from '../src/grid/activity.ts'
import { reissueKey } from '../src/grid/agents/agent-settings.ts'
import { openStore, type Store } from '../src/store/store.ts'
import { postA2a, send03 } from './support/a2a.ts'
import { onLibsqlServer } from './support/databases.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { agentChanges, withoutTimes } from './support/key-changes.ts'
import { isLong } from './support/long.ts'
import { mcp } from './support/mcp.ts'
import { callRest } from './support/rest.ts'
import { tripwire } from './support/tripwire.ts'

type Use = (grid: TestGrid, key: string) => Promise<{ status: number; body: unknown }>

const tool = (name: string, args: object = {}): Use => (grid, key) =>
  mcp(grid, key, 'tools/call', { name, arguments: args })
const rest = (route: string, args: Record<string, unknown> = {}): Use => (grid, key) => callRest(grid, key, route, args)

const isLookUp = (sql: string) => /^SELECT (credentials|oauth_tokens)\.account_id/.test(sql)

/** The id of alice's open lease. */
let leaseId: string

const hello = { to: '@bob', message: 'hello' }
const uses: Record<string, Use> = {
  'a send': tool('send_message', hello),
  'a send with a key': tool('send_message', { ...hello, idempotency_key: 'once' }),
  'a reply': tool('send_message', { ...hello, reply_to_message_id: crypto.randomUUID() }),
  'a send over REST': rest('POST /api/v1/messages', hello),
  'a send that takes the next message': rest('POST /api/v1/messages', { ...hello, next: {} }),
  'a send over A2A': (grid, key) => postA2a(grid, key, send03()),
  'a read': tool('read_messages'),
  'a read that waits': tool('read_messages', { wait_seconds: 1 }),
  'a look at the inbox': rest('GET /api/v1/inbox'),
  'an ack': (grid, key) => rest('POST /api/v1/inbox/leases/{lease}/ack', { lease: leaseId })(grid, key),
  'a lease': rest('POST /api/v1/inbox/leases'),
  'a list': tool('list_agents'),
  'message_status': tool('message_status', { message_id: crypto.randomUUID() }),
  'search_messages': tool('search_messages', { query: 'secret' }),
  'an introduction': (grid, key) => mcp(grid, key, 'initialize', { protocolVersion: '2025-11-25' }),
}

onLibsqlServer((openGrid) => {
  let grid: TestGrid
  let store: Store
  let asked: string[]
  beforeEach(async () => {
    grid = await openGrid()
    asked = []
    store = await openStore(grid.deps, {
      inspect(sql, crossAccount) {
        asked.push(sql)
        tripwire(sql, crossAccount)
      },
    })
  })
  afterEach(async () => {
    await store.drained()
    await store.close()
    await grid.close()
  })

  /** Returns a process that does not know any caller yet. */
  function newProcess(): TestGrid {
    const app = createApp(store)
    const request: TestGrid['request'] = (path, init = {}, remoteAddress = '203.0.113.7') =>
      Promise.resolve(app.request(new URL(path, grid.deps.config.baseUrl).href, init, { remoteAddress }))
    const post: TestGrid['post'] = (path, body, headers, remoteAddress) =>
      request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }, remoteAddress)
    return { ...grid, store, app, request, post }
  }

  /** Returns the numbers of messages and leases. */
  async function written(): Promise<unknown> {
    const client = createClient({ url: grid.deps.config.databaseUrl })
    const { rows } = await client.execute('SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM leases)')
    client.close()
    return [rows[0][0], rows[0][1]]
  }

  // The long tests combine every verb with every change. Otherwise each change is combined with every third verb.
  const cases = agentChanges.map(([name, prepare], place) => [name, prepare, place] as const)
  test.each(cases)('after %s, the next call of a verb matches the database', async (_, prepare, place) => {
    await tool('send_message', { to: 'alice', message: 'a leased secret' })(grid, grid.bob.key)
    leaseId = (await callRest(grid, grid.alice.key, 'POST /api/v1/inbox/leases')).body.lease_id
    await tool('send_message', { to: 'alice', message: 'the secret' })(grid, grid.bob.key)
    const prepared = await prepare(grid)
    const chosen = Object.entries(uses).filter((_, n) => isLong || (n + place) % 3 === 0)
    const knowing = chosen.map(([name, use]) => ({ name, use, process: newProcess() }))
    for (const { name, process } of knowing) {
      expect((await tool('list_agents')(process, prepared.key)).status, name).toBe(200)
    }

    await prepared.change()

    for (const { name, use, process } of knowing) {
      const before = await written()
      asked.length = 0
      const { status, body } = await use(process, prepared.key)
      // An ack is exempt, because it starts with a write, which waits for the lookup.
      if (name !== 'an ack') {
        expect(asked.filter((sql) => !isLookUp(sql)).length, `${name} is begun with the look-up`).toBeGreaterThan(0)
      }
      const { status: asNew, body: bodyAsNew } = await use(newProcess(), prepared.key)
      expect(status, name).toBe(asNew)
      if (prepared.stays) {
        if (name === 'a list') expect(withoutTimes(body)).toBe(withoutTimes(bodyAsNew))
        continue
      }
      // Only a process that has read the body knows the call's id, so the ids are not compared.
      expect([name, status, { ...Object(body), id: null }]).toEqual([name, 401, { ...Object(bodyAsNew), id: null }])
      expect(await written(), name).toEqual(before)
    }
  })

  test('a call over its limit writes nothing, and is refused as unknown once its key is revoked', async () => {
    const limited = await openGrid({ env: { CALLS_PER_SECOND: '1' } })
    const send = () => tool('send_message', hello)(limited, limited.alice.key)
    let answer = await send()
    while (answer.status === 200) answer = await send()
    const before = await written()
    expect([answer.status, (await send()).status]).toEqual([429, 429])
    expect(await written()).toEqual(before)

    await reissueKey(grid.acme.store, 'alice')

    expect((await send()).status).toBe(401)
    await limited.close()
  })
})

test('an account reads and writes only after its caller is proven', async () => {
  const { store, acme, alice, bob, ...grid } = await testGrid()
  const actor = { type: 'agent', agentId: alice.id, alias: 'alice', credentialId: 'key' } as const
  const refused = new Error('refused')
  const open = (proof: () => Promise<unknown>) => {
    const account = store.account(acme.id, actor, proof)
    const renaming = (alias: string) => [account.change.agents.markSeen(alice.id, alias.length)]
    return [
      () => account.read.agents.byAlias('bob'),
      () => account.read.directory.recipient('eve', actor),
      () => account.guarding().typeOf(bob.id),
      () => account.guarding().write(renaming('a')),
      () => account.tasksOf(acme.id).of('recipient', alice.id, bob.id),
      () => account.ofSender({ home: acme.id }).read.agents.byAlias('bob'),
      () => account.write(renaming('ab')),
      () => account.record(activityRow(actor, { tool: 'x', arguments: {}, requestId: null }, 'ok', 1), renaming('abc')),
    ]
  }
  const seenAt = async () => (await acme.store.read.agents.byAlias('alice'))!.lastSeenAt

  for (const use of open(() => Promise.reject(refused))) await expect(use()).rejects.toBe(refused)
  store.account(acme.id, actor, () => Promise.reject(refused)).writeLater([
    acme.store.change.agents.markSeen(alice.id, 4),
  ])
  await store.drained()
  expect(await seenAt()).toBeNull()

  for (const use of open(() => Promise.resolve())) await use()
  expect(await seenAt()).toBe(3)
  await grid.close()
})
