/** Field errors of a signup. See docs/protocol/signup.md, "Errors". */
import { beforeEach, expect, test } from 'vitest'
import { dump, rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { accountCount, codeOf, refusal, signedUp, signUp, signups } from '../support/signup.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '100' } })
})

test.each([
  ['of 2 characters', 'ab'],
  ['of 33 characters', 'a'.repeat(33)],
  ['empty', ''],
  ['in upper case', 'Zoe'],
  ['with @', '@zoe'],
  ['that begins with a hyphen', '-zoe'],
  ['that ends with a hyphen', 'zoe-'],
  ['with a line end', 'zoe\n'],
  ['with a Cyrillic letter', 'аdmin1'],
  ['with a lone surrogate', 'zoe\ud800'],
  ['that is missing', undefined],
])('invalid_alias: the alias of a signup has an invalid format (one %s)', async (_, alias) => {
  expect(await refusal(grid, { alias })).toEqual({ status: 400, code: 'invalid_alias' })
})

test.each(['123', 'a'.repeat(32), 'a--b'])('a signup with the alias %s is accepted', async (alias) => {
  expect((await signUp(grid, { alias })).status).toBe(201)
})

test('alias_taken: the alias is in use in any account', async () => {
  await signUp(grid, { alias: 'zoe-agent' })

  expect(await refusal(grid, { alias: 'zoe-agent' })).toEqual({ status: 409, code: 'alias_taken' })
  expect(await refusal(grid, { alias: 'zoe-agent', owner_email: 'else@where.example' })).toMatchObject({
    code: 'alias_taken',
  })
  expect(await refusal(grid, { alias: 'alice' })).toMatchObject({ code: 'alias_taken' })
})

test('alias_taken: the alias belonged to a deleted agent of another account', async () => {
  await rows(grid, 'UPDATE agents SET deleted_at = 1 WHERE account_id = ? AND id = ?', [grid.acme.id, grid.alice.id])

  expect(await refusal(grid, { alias: 'alice' })).toMatchObject({ status: 409, code: 'alias_taken' })
})

test('alias_taken: of 30 parallel signups for one alias, one creates an agent', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => signUp(grid, { alias: 'zoe-agent', owner_email: `a${n}@owner.example` })),
  )

  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  const codes = await Promise.all(answers.filter(({ status }) => status !== 201).map(codeOf))
  expect(codes).toEqual(Array(29).fill('alias_taken'))
  expect(await accountCount(grid)).toBe(3)
})

test('alias_reserved: the alias is reserved by the grid or by the configuration', async () => {
  grid = await testGrid({ env: { RESERVED_ALIASES: 'Boss, @chief', SIGNUP_PER_HOUR: '100' } })

  for (const alias of ['admin', 'channel', 'grid', 'system', 'support', 'root', 'tasks', 'here', 'boss', 'chief']) {
    expect(await refusal(grid, { alias })).toEqual({ status: 409, code: 'alias_reserved' })
  }
})

test.each([
  ['missing', undefined],
  ['empty', ''],
  ['without a domain', 'ann@'],
  ['of a host without a dot', 'ann@localhost'],
  ['an IP address', 'ann@127.0.0.1'],
  ['with a display name', 'Ann <ann@example.com>'],
  ['a list', 'ann@example.com, bob@example.com'],
  ['with a header', 'ann@example.com\r\nBcc: eve@example.com'],
  ['with a line end inside', 'ann@exam\nple.com'],
  ['of a name of 65 characters', `${'a'.repeat(65)}@example.com`],
  ['of 255 characters', `ann@${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`],
  ['with U+0000', 'ann\0@example.com'],
  ['that becomes a list when normalised', 'ann＠example.com，eve@example.com'],
])('invalid_email: owner_email is invalid (%s)', async (_, owner_email) => {
  expect(await refusal(grid, { owner_email })).toEqual({ status: 400, code: 'invalid_email' })
})

test.each([
  ['Ann@Owner.Example', 'ann@owner.example'],
  ['  ann@owner.example\t', 'ann@owner.example'],
  ['ann+tag@owner.example', 'ann+tag@owner.example'],
  ['ａｎｎ@owner.example', 'ann@owner.example'],
])('a signup with the address %j stores %s', async (owner_email, stored) => {
  expect((await signUp(grid, { owner_email })).status).toBe(201)

  expect(await signups(grid, stored)).toHaveLength(1)
})

test('signup_rate_limited: too many signups', async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '2' } })
  await signUp(grid, { alias: 'one' })
  grid.clock.now += 600_000
  await signUp(grid, { alias: 'two' })

  const response = await signUp(grid, { alias: 'three' })

  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('3000')
  expect(await codeOf(response)).toBe('signup_rate_limited')
})

test.each([
  ['owner_email', { owner_email: 5 }],
  ['owner_email', { owner_email: ['ann@owner.example'] }],
  ['alias', { alias: 5 }],
  ['alias', { alias: { toString: 'zoe' } }],
  ['description', { description: 'x'.repeat(501) }],
  ['description', { description: 'a\0b' }],
  ['skills', { skills: 'search' }],
  ['length', { skills: { length: { toString: 1 } } }],
  ['skills', { skills: Array.from({ length: 21 }, (_, n) => `skill-${n}`) }],
  ['skills', { skills: [''] }],
  ['skills', { skills: ['x'.repeat(65)] }],
  ['skills', { skills: ['a\0b'] }],
])('invalid_request: the error names the field %s: %j', async (field, input) => {
  const response = await signUp(grid, input)
  const { error } = await response.json()

  expect(response.status).toBe(400)
  expect(error.code).toBe('invalid_request')
  expect(error.message.toLowerCase()).toContain(field.replace(/s$/, ''))
  expect(await accountCount(grid)).toBe(2)
})

test.each([
  ['a description of 500 characters', { description: 'x'.repeat(500) }],
  ['20 skills of 64 characters', { skills: Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(64, 'x')) }],
  ['a description in many scripts', { description: 'Ω 漢字 🙂 עברית' }],
  ['a lone surrogate, which becomes well-formed', { description: 'a\ud800b' }],
])('a signup with %s is accepted', async (_, input) => {
  expect((await signUp(grid, input)).status).toBe(201)
})

test('unknown fields of a signup are ignored and have no effect', async () => {
  const before = [await dump(grid, grid.acme), await dump(grid, grid.evil)]
  const account = await signedUp(grid, {
    alias: 'zoe',
    accountId: grid.acme.id,
    account_id: grid.acme.id,
    home: grid.acme.id,
    id: grid.alice.id,
    userId: 'x',
    role: 'owner',
    scope: 'admin',
    type: 'human',
    visibility: 'public',
    accessPolicy: 'allow_list',
    remoteUrl: 'http://127.0.0.1',
    createdAt: 1,
    signupId: 'x',
    state: 'claimed',
    trial: { max_messages: 1_000 },
    ownerEmail: 'else@where.example',
    api_key: 'mine',
  })
  const agent = await account.read.agents.byAlias('zoe')

  expect(agent).toMatchObject({ type: 'mcp', visibility: 'private', remoteUrl: null, createdAt: grid.clock.now })
  expect(agent!.id).not.toBe(grid.alice.id)
  expect(account.actor.type).toBe('agent')
  expect(await account.read.agents.trial(agent!.id)).toMatchObject({ max: 10 })
  expect(await signups(grid, 'ann@owner.example')).toHaveLength(1)
  expect([await dump(grid, grid.acme), await dump(grid, grid.evil)]).toEqual(before)
})
