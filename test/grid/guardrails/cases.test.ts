/** How people see guardrails: cases, counts, exceptions and contents. See docs/protocol/guardrails.md. */
import { beforeEach, expect, test } from 'vitest'
import type { Actor } from '../../../src/auth/actor.ts'
import { setContentsVisible } from '../../../src/grid/accounts/people-read.ts'
import {
  allowText,
  countCases,
  disallowText,
  listCases,
  listExceptions,
  maxExceptions,
} from '../../../src/grid/guardrails/cases.ts'
import { deleteGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { hashForLookup } from '../../../src/lib/secrets.ts'
import { day, hour, minute } from '../../../src/lib/time.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { sweep } from '../../../src/worker/retention.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { sendMessage } from '../../support/messaging.ts'
import { membership } from '../../support/people.ts'

let grid: TestGrid
let providers: ReturnType<typeof testProviders>
let ann: AccountStore
beforeEach(async () => {
  providers = testProviders()
  grid = await testGrid(providers)
  ann = await person('owner')
})

test("a guardrail's cases are listed and counted", async () => {
  const id = await guard(grid.acme, 'alice', { name: 'words', direction: 'outbound' })
  const firstAt = grid.clock.now
  await blocked(secret)
  // The next two cases are at different times in the next hour, and neither is at its start.
  grid.clock.now += hour + 10 * minute
  const secondAt = grid.clock.now
  await blocked(`${secret}!`)
  grid.clock.now += 20 * minute
  await blocked(`${secret}?`)

  const cases = await listCases(ann, id)
  expect(cases.map(({ id: _, ...found }) => found)).toEqual(['?', '!', ''].map((end, n) => ({
    ...{ direction: 'outbound', action: 'blocked', kinds: [kind], sender: 'alice', recipient: '@bob' },
    ...{ agents: ['alice'], textHash: hashForLookup(secret + end), isAllowed: false },
    messageId: null,
    createdAt: [grid.clock.now, secondAt, firstAt][n],
  })))
  expect(await listCases(ann, id, { limit: 1, before: cases[0].id })).toEqual([cases[1]])
  const thisHour = grid.clock.now - grid.clock.now % hour
  expect(await countCases(ann, id, { from: 0 })).toEqual([
    { hour: thisHour - hour, action: 'blocked', n: 1 },
    { hour: thisHour, action: 'blocked', n: 2 },
  ])
  expect(await countCases(ann, id, { from: 0, until: thisHour })).toHaveLength(1)
})

test("a guardrail's failures are counted", async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound', provider: 'webhook', onFailure: 'closed' })
  providers.remote.check = () => Promise.reject(new Error('down'))

  await expect(sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'hi' })).rejects.toMatchObject({
    code: 'guardrail_unavailable',
  })
  await grid.store.drained()

  expect(await countCases(ann, id, { from: 0 })).toMatchObject([{ action: 'failed', n: 1 }])
})

test('an exception delivers exactly the allowed text', async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound' })
  await blocked(secret)
  const [{ textHash }] = await listCases(ann, id)

  await allowText(ann, id, textHash)
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: secret })
  await blocked(`${secret}!`)
  expect((await listCases(ann, id)).map(({ isAllowed }) => isAllowed)).toEqual([false, true])
  expect(await listExceptions(ann, id)).toEqual([{ textHash, createdAt: grid.clock.now }])

  await disallowText(ann, id, textHash)
  await blocked(secret)
  expect(await listExceptions(ann, id)).toEqual([])
})

test('exceptions are limited, and removed with their guardrail, whose cases stay', async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound' })
  await blocked(secret)
  const hash = (n: number) => n.toString(16).padStart(64, '0')
  await grid.acme.store.write(
    Array.from({ length: maxExceptions }, (_, n) => grid.acme.store.change.verdicts.allow(id, hash(n), 1)),
  )

  await expect(allowText(ann, id, hash(maxExceptions))).rejects.toMatchObject({ code: 'invalid_input' })
  await expect(allowText(ann, id, 'a text')).rejects.toMatchObject({ code: 'invalid_input' })
  await allowText(ann, id, hash(0))
  await deleteGuardrail(ann, id)

  const left = (table: string) => rows(grid, `SELECT count(*) AS n FROM ${table} WHERE account_id = ?`, [grid.acme.id])
  expect(await left('guardrail_exceptions')).toEqual([{ n: 0 }])
  expect(await left('verdicts')).toEqual([{ n: 1 }])
})

test("a blocked message's text is stored only while people may see contents", async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound' })
  const contents = async (account = ann) => (await listCases(account, id)).map(({ content }) => content)
  await blocked(`before ${secret}`)
  await setContentsVisible(ann, { isVisible: true })
  await blocked(`while ${secret}`)

  expect(await contents()).toEqual([`while ${secret}`, undefined])
  // Admin keys cannot see the text.
  expect(await contents(grid.store.account(grid.acme.id, admin))).toEqual([undefined, undefined])
  grid.clock.now += 7 * day - minute
  await sweep(grid.store)
  const owner = await person('owner')
  expect(await contents(owner)).toEqual([`while ${secret}`, undefined])
  grid.clock.now += minute
  await sweep(grid.store)
  expect(await contents(owner)).toEqual([undefined, undefined])

  await blocked(`again ${secret}`)
  await setContentsVisible(await person('owner'), { isVisible: false })
  await blocked(`after ${secret}`)
  await setContentsVisible(await person('owner'), { isVisible: true })
  expect(await contents()).toEqual([undefined, undefined, undefined, undefined])
})

test('a case does not contain the text of a delivered, flagged or redacted message', async () => {
  await setContentsVisible(ann, { isVisible: true })
  const flag = await guard(grid.acme, 'alice', { name: 'flag', direction: 'outbound', action: 'flag' })
  const words = { phrases: ['marlin'] }
  const redact = await guard(grid.acme, 'bob', { name: 'r', direction: 'inbound', action: 'redact', config: words })

  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: `a marlin and a ${secret}` })

  expect((await listCases(ann, flag)).map(({ action, content }) => [action, content])).toEqual([['flagged', undefined]])
  expect((await listCases(ann, redact)).map(({ action, content }) => [action, content]))
    .toEqual([['redacted', undefined]])
  const kept = 'SELECT 1 FROM verdicts WHERE account_id = ? AND content IS NOT NULL'
  expect(await rows(grid, kept, [grid.acme.id])).toEqual([])
})

test("the recipient's account decides whether a blocked message's text is stored", async () => {
  await grid.evil.agent('desk', { visibility: 'public' })
  await guard(grid.evil, 'desk', { direction: 'inbound' })
  await setContentsVisible(ann, { isVisible: true })
  await blocked(secret, '@desk')
  await setContentsVisible(grid.evil.store, { isVisible: true })
  await blocked(`${secret}!`, '@desk')

  const kept = await rows(grid, 'SELECT content FROM verdicts WHERE account_id = ? ORDER BY id', [grid.evil.id])
  expect(kept).toEqual([{ content: null }, { content: `${secret}!` }])
})

test('verdicts, counts and blocked sends are removed after their retention time', async () => {
  await guard(grid.acme, 'alice', { direction: 'outbound' })
  await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: secret, idempotencyKey: 'k' }).catch(() => {})
  const left = async () => {
    await sweep(grid.store)
    const tables = ['verdicts', 'guardrail_counts', 'blocked_sends']
    const found = tables.map((table) => rows(grid, `SELECT * FROM ${table} WHERE account_id = ?`, [grid.acme.id]))
    return (await Promise.all(found)).map(({ length }) => length)
  }

  expect(await left()).toEqual([1, 1, 1])
  grid.clock.now += 7 * day
  expect(await left()).toEqual([1, 1, 0])
  grid.clock.now += 83 * day + hour
  expect(await left()).toEqual([0, 0, 0])
})

const admin: Actor = { type: 'admin', credentialId: 'key', credentialKind: 'admin_key', userId: null }

/** Returns Acme's store as opened by a user with this role who has just confirmed their identity. */
async function person(role: 'owner' | 'admin' | 'member' | 'viewer'): Promise<AccountStore> {
  const { users } = grid.store.global
  const email = role === 'owner' ? 'ann@acme.example' : `${role}@acme.example`
  if (!await users.byEmail(email)) {
    await grid.store.write([
      users.add({ id: role, email, passwordHash: null }, 1),
      membership(grid.store, grid.acme.id, role, role, 1),
    ])
  }
  const { id: userId } = (await users.byEmail(email))!
  const actor = { type: 'user' as const, userId, role, sessionId: 'session', confirmedAt: grid.clock.now }
  return grid.store.account(grid.acme.id, actor)
}

async function blocked(text: string, to = '@bob'): Promise<void> {
  await expect(sendMessage(storeOf(grid, grid.alice), { to, text })).rejects.toMatchObject({
    code: 'guardrail_blocked',
  })
}
