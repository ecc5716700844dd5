/** Bearer authentication. See docs/security.md, "Keys and tokens", and docs/protocol/README.md, "Credentials". */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type Authenticate, createAuthenticator } from '../../src/auth/bearer.ts'
import { createAgent } from '../../src/grid/agents/agents.ts'
import { second } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { tripwire } from '../support/tripwire.ts'

let grid: TestGrid
let authenticate: Authenticate
let statements: string[]
beforeEach(async () => {
  grid = await testGrid({
    inspect(sql, crossAccountQuery) {
      tripwire(sql, crossAccountQuery)
      statements?.push(sql)
    },
  })
  authenticate = createAuthenticator(grid.store)
  statements = []
})

test('an agent key authenticates its agent, without admin rights', async () => {
  const account = await authenticate(`Bearer ${grid.alice.key}`)

  expect(account.actor).toEqual({
    type: 'agent',
    agentId: grid.alice.id,
    alias: 'alice',
    credentialId: expect.any(String),
    isUnlimited: true,
  })
  await expect(createAgent(account, { alias: 'new' })).rejects.toMatchObject({ code: 'wrong_credential' })
})

test('a trial agent is authenticated with limited rights', async () => {
  const signup = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe' })
  const { api_key } = await signup.json()
  expect((await authenticate(`Bearer ${api_key}`)).actor).toMatchObject({ alias: 'zoe', isUnlimited: false })
})

test('an admin key authenticates an admin of its account, not an agent', async () => {
  const account = await authenticate(`Bearer ${grid.acme.adminKey}`)

  expect(account.actor).toEqual({
    type: 'admin',
    credentialId: expect.any(String),
    credentialKind: 'admin_key',
    userId: null,
  })
  await expect(sendMessage(account, { to: 'bob', text: 'hi' })).rejects.toMatchObject({ code: 'wrong_credential' })
})

test.each<[string, (key: string) => string | null, 'ok' | 'missing' | 'refused']>([
  ['absent', () => null, 'missing'],
  ['the scheme alone', () => 'Bearer', 'missing'],
  ['right', (key) => `Bearer ${key}`, 'ok'],
  ['in lower case', (key) => `bearer ${key}`, 'ok'],
  ['with a tab', (key) => `Bearer\t${key}`, 'missing'],
  ['with two tokens', (key) => `Bearer ${key} ${key}`, 'missing'],
  ['without a scheme', (key) => key, 'missing'],
  ['of scheme Basic', (key) => `Basic ${btoa(`x:${key}`)}`, 'missing'],
  ['a JWT', () => 'Bearer eyJhbGciOiJub25lIn0.e30.', 'refused'],
  ['very long', () => `Bearer ${'x'.repeat(100_000)}`, 'refused'],
  ['U+0000', (key) => `Bearer ${key}\0`, 'refused'],
])(
  'an Authorization header is accepted or refused without an internal error: %s',
  async (_, header, outcome) => {
    const answer = await authenticate(header(grid.alice.key)).then(
      () => 'ok',
      (error) => error.code === 'unauthenticated' ? error.details.credential : `${error}`,
    )

    expect(answer).toBe(outcome)
  },
)

test('the use of a key is recorded at most once a minute', async () => {
  const uses = () => statements.filter((sql) => sql.startsWith('UPDATE credentials SET last_used_at')).length
  const call = async (key: string) => {
    await authenticate(`Bearer ${key}`)
    await grid.store.write([])
  }

  for (let n = 0; n < 5; n++) await call(grid.alice.key)
  expect(uses()).toBe(1)
  await call(grid.bob.key)
  expect(uses()).toBe(2)
  grid.clock.now += 60 * second - 1
  await call(grid.alice.key)
  expect(uses()).toBe(2)
  grid.clock.now += 1
  await call(grid.alice.key)
  expect(uses()).toBe(3)

  const [row] = await rows(
    grid,
    'SELECT c.last_used_at, a.last_seen_at FROM credentials c JOIN agents a ON a.account_id = c.account_id AND a.id = c.agent_id WHERE c.account_id = ? AND a.id = ?',
    [grid.acme.id, grid.alice.id],
  )
  expect(row).toMatchObject({ last_used_at: grid.clock.now, last_seen_at: grid.clock.now })
})

test('the database and its write-ahead log contain no key or claim token in plain text', async () => {
  const signup = await grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: 'zoe' })
  const { api_key, trial } = await signup.json()
  await authenticate(`Bearer ${api_key}`)
  await grid.store.write([])

  // Reads the files in another process, because closing them in this one would release its file lock.
  const files = ['grid.db', 'grid.db-wal'].map((name) => join(grid.folder, name)).filter((name) => existsSync(name))
  const bytes = execFileSync('cat', files, { maxBuffer: 1e9 })

  expect(files).toHaveLength(2)
  expect(bytes.includes('alice')).toBe(true)
  for (const secret of [grid.alice.key, grid.acme.adminKey, api_key, trial.claim_url.split('/').pop()!]) {
    expect(bytes.includes(secret)).toBe(false)
    expect(bytes.includes(secret.slice(9, 45))).toBe(false)
  }
})
