/** Two processes on one libsql-server, and answers of the database that get lost: codes and tokens change state once. */
import { type Client, type Config, createClient } from '@libsql/client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { second } from '../../src/lib/time.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { rows } from '../support/database.ts'
import {
  answer,
  codeFor,
  exchange,
  issuer,
  type OAuthGrid,
  oauthGrid,
  openPage,
  opens,
  redirected,
  refresh,
  signIn,
} from '../support/oauth.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { tripwire } from '../support/tripwire.ts'

let server: Sqld
let grid: OAuthGrid
let otherStore: Store
/** The same grid, served by another process. */
let other: OAuthGrid
/** The answers to the next commits get lost, this many. */
let losing = 0

beforeAll(async () => {
  server = await startSqld()
  grid = await oauthGrid({
    url: server.url,
    connect: forgetful,
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
beforeEach(() => void (losing = 0))
afterEach(() => void (losing = 0))

/** A database whose answers get lost after it stored everything. */
function forgetful(config: Config): Client {
  const client = createClient(config)
  const batch = client.batch.bind(client)
  client.batch = async (...of) => {
    const answered = await batch(...of)
    if (losing === 0) return answered
    losing--
    throw new Error('socket hang up')
  }
  return client
}

test('a code brought to two processes at the same moment is good once, and ends', async () => {
  const code = await codeFor(grid)

  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => exchange(n % 2 ? grid : other, code)))

  const good = answers.filter(({ status }) => status === 200)
  expect(good).toHaveLength(1)
  expect(await opens(grid, good[0].body.access_token)).toBe('401')
})

test('a refresh token shared by two processes gives each a pair, and its reuse ends both', async () => {
  const tokens = await signIn(grid)

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => refresh(n % 2 ? grid : other, tokens.refresh_token)),
  )

  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  for (const { body } of answers.slice(0, 3)) expect(await opens(other, body.access_token)).toBe('admin tools')
  grid.clock.now += 121 * second
  expect((await refresh(other, tokens.refresh_token)).status).toBe(400)
  for (const { body } of answers.slice(0, 3)) expect(await opens(grid, body.access_token)).toBe('401')
})

test('a grant that one process ends is dead in the other', async () => {
  const tokens = await signIn(grid)
  expect(await opens(other, tokens.access_token)).toBe('admin tools')

  await rows(grid, 'UPDATE oauth_grants SET revoked_at = 1 WHERE account_id = ?', [grid.acme.id])

  expect(await opens(other, tokens.access_token)).toBe('401')
})

test('when the answer to a commit gets lost it is repeated, and means the same', async () => {
  losing = 1
  const registered = await grid.post(`${issuer}/oauth/register`, { redirect_uris: ['http://127.0.0.1:4100/callback'] })
  expect(registered.status).toBe(201)
  expect(losing).toBe(0)

  const { handle } = await openPage(grid, grid.ann)
  losing = 1
  const allowed = await answer(grid, grid.ann, { handle, pick: `admin:${grid.acme.id}`, decision: 'allow' })
  const { code } = redirected(allowed)
  losing = 1
  const tokens = await exchange(grid, code)
  losing = 1
  const next = await refresh(grid, tokens.body.refresh_token)

  expect([allowed.status, tokens.status, next.status, losing]).toEqual([303, 200, 200, 0])
  expect(await opens(grid, next.body.access_token)).toBe('admin tools')
})

test('in the strict mode too', async () => {
  const config = { ...grid.deps.config, oauthRefreshGraceSeconds: 0 }
  const strictStore = await openStore({ ...grid.deps, config }, {
    connect: forgetful,
  })
  const app = createApp(strictStore)
  const strict: OAuthGrid = {
    ...grid,
    request: (path, init = {}) => Promise.resolve(app.request(new URL(path, issuer).href, init, { remoteAddress: '' })),
  }
  const tokens = await signIn(grid)

  losing = 1
  const next = await refresh(strict, tokens.refresh_token)

  expect([next.status, losing]).toEqual([200, 0])
  expect((await refresh(strict, tokens.refresh_token)).body.error).toBe('invalid_grant')
  await strictStore.close()
})
