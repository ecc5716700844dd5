/** Two processes on one libsql-server, and lost database responses. Codes and tokens are used exactly once. */
import { type Client, type Config, createClient } from '@libsql/client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { second } from '../../src/lib/time.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import {
  codeFor,
  exchange,
  issuer,
  mcpAccess,
  type OAuthGrid,
  oauthGrid,
  obtainTokens,
  openConsentPage,
  redirectParameters,
  refresh,
  submitConsent,
} from '../support/oauth.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'

let server: Sqld
let grid: OAuthGrid
let otherStore: Store
/** The same grid, served by another process. */
let other: OAuthGrid
/** How many of the next commit responses are lost. */
let responsesToLose = 0

beforeAll(async () => {
  server = await startSqld()
  grid = await oauthGrid({
    url: server.url,
    connect: lossyClient,
  })
  otherStore = await openStore(grid.deps, { inspect: tripwire })
  const app = createApp(otherStore)
  const request: OAuthGrid['request'] = (path, init = {}, remoteAddress = '203.0.113.7') =>
    Promise.resolve(app.request(new URL(path, issuer).href, init, { remoteAddress }))
  other = { ...grid, request }
}, 300_000)
afterAll(async () => {
  await otherStore.close()
  await grid.close()
  await server.stop()
})
beforeEach(() => void (responsesToLose = 0))
afterEach(() => void (responsesToLose = 0))

/** Creates a database client that loses responses after a commit. */
function lossyClient(config: Config): Client {
  const client = createClient(config)
  const batch = client.batch.bind(client)
  client.batch = async (...of) => {
    const answered = await batch(...of)
    if (responsesToLose === 0) return answered
    responsesToLose--
    throw new Error('socket hang up')
  }
  return client
}

test('a code that two processes receive at the same time succeeds once, and its tokens are revoked', async () => {
  const code = await codeFor(grid)

  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => exchange(n % 2 ? grid : other, code)))

  const good = answers.filter(({ status }) => status === 200)
  expect(good).toHaveLength(1)
  expect(await mcpAccess(grid, good[0].body.access_token)).toBe('401')
})

test('a refresh token that two processes receive at the same time yields two token pairs, and a later use revokes both', async () => {
  const tokens = await obtainTokens(grid)

  const all = await Promise.all(
    Array.from({ length: 20 }, (_, n) => refresh(n % 2 ? grid : other, tokens.refresh_token)),
  )

  const answers = all.filter(({ status }) => status === 200)
  expect(answers).toHaveLength(2)
  for (const { body } of answers) expect(await mcpAccess(other, body.access_token)).toBe('admin tools')
  grid.clock.now += 121 * second
  expect((await refresh(other, tokens.refresh_token)).status).toBe(400)
  for (const { body } of answers) expect(await mcpAccess(grid, body.access_token)).toBe('401')
})

test('a commit whose response was lost is retried, and takes effect once', async () => {
  responsesToLose = 1
  const registered = await grid.post(`${issuer}/oauth/register`, { redirect_uris: ['http://127.0.0.1:4100/callback'] })
  expect(registered.status).toBe(201)
  expect(responsesToLose).toBe(0)

  const { handle } = await openConsentPage(grid, grid.ann)
  responsesToLose = 1
  const allowed = await submitConsent(grid, grid.ann, { handle, pick: `admin:${grid.acme.id}`, decision: 'allow' })
  const { code } = redirectParameters(allowed)
  responsesToLose = 1
  const tokens = await exchange(grid, code)
  responsesToLose = 1
  const next = await refresh(grid, tokens.body.refresh_token)

  expect([allowed.status, tokens.status, next.status, responsesToLose]).toEqual([303, 200, 200, 0])
  expect(await mcpAccess(grid, next.body.access_token)).toBe('admin tools')
})
