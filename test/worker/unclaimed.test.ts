/** Removal of unclaimed accounts, with a test clock. */
import { beforeEach, expect, test, vi } from 'vitest'
import { GridError } from '../../src/errors.ts'
import { openClaim } from '../../src/grid/accounts/claim.ts'
import { recordActivity } from '../../src/grid/activity.ts'
import { allowText } from '../../src/grid/guardrails/cases.ts'
import { leaseOf, readMessages } from '../../src/grid/messaging/read-messages.ts'
import { day, hour } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { dump, rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import { storeOf, type TestGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { guard, secret, testProviders } from '../support/guarded.ts'
import { sendMessage } from '../support/messaging.ts'
import { claimAgents, type SignedUp, signUpAs } from '../support/signup.ts'
import { askFor } from '../support/tasks.ts'
import { accountTables } from '../support/tripwire.ts'

const zoe = 'zoe@new.example'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open({ ...testProviders(), env: { SIGNUP_PER_HOUR: '1000' } })
  })

  test('7 days after a signup, only ids of an unclaimed account remain, its keys are refused, and its alias is free', async () => {
    const one = await signUp('zoe-one', zoe, { description: 'counts beans', skills: ['beans', 'peas'] })
    const two = await signUp('zoe-two', zoe)
    await callTool(grid, one.key, 'send_message', { to: 'zoe-two', message: 'hi', idempotency_key: 'k' })
    await sendMessage(storeOf(grid, one, { id: one.home }), {
      to: 'zoe-two',
      text: 'hi',
      a2a: { messageId: 'm', parts: [{ text: 'beans '.repeat(2_000) }] },
    })
    // The operator can give the account guardrails on the command line.
    const ofOne = { ...grid.acme, store: grid.store.account(one.home, { type: 'system', job: 'test' }) }
    const guardrail = await guard(ofOne, 'zoe-one', { direction: 'outbound' })
    await allowText(ofOne.store, guardrail, '0'.repeat(64))
    await sendMessage(storeOf(grid, one, { id: one.home }), { to: 'zoe-two', text: secret, idempotencyKey: 'blocked' })
      .catch(() => {})
    expect(await rowCounts(one.home)).toMatchObject({
      parts: 1,
      verdicts: 1,
      blocked_sends: 1,
      guardrail_exceptions: 1,
    })
    await askFor(storeOf(grid, one, { id: one.home }), 'a question', { to: '@zoe-two' })
    await leaseAndRelease(two)
    const call = { tool: 'claim_account', arguments: {}, requestId: null }
    await recordActivity(ofOne.store, call, () => Promise.reject(new GridError('claim_changed', 'Changed'))).catch(
      () => {},
    )
    await grid.store.drained()
    const before = [await dump(grid, grid.acme), await dump(grid, grid.evil)]

    grid.clock.now += 7 * day - 1
    await sweep(grid.store)
    expect(await status(one.key)).toBe(200)
    grid.clock.now += 1
    await sweep(grid.store)

    expect([await status(one.key), await status(two.key)]).toEqual([401, 401])
    expect(await rowCounts(one.home)).toEqual({ agents: 2, agent_numbers: 2 })
    expect(await dump(grid, { ...grid.acme, id: one.home })).not.toMatch(/zoe|beans/)
    expect([await dump(grid, grid.acme), await dump(grid, grid.evil)]).toEqual(before)
    await expect(openClaim(grid.store, one.link)).rejects.toMatchObject({ code: 'link_expired' })
    const other = await signUp('zoe-one', 'yan@new.example')
    expect(other.home).not.toBe(one.home)
    const again = await signUp('zoe-three', zoe)
    expect(again.home).not.toBe(one.home)
    expect(await status(again.key)).toBe(200)
  })

  test("an unclaimed account is kept until its newest agent's trial is over", async () => {
    const old = await signUp('zoe-one', zoe)
    grid.clock.now += 7 * day - hour
    await signUp('zoe-two', zoe)
    grid.clock.now += hour
    await sweep(grid.store)
    expect(await status(old.key)).toBe(200)

    grid.clock.now += 23 * hour
    await sweep(grid.store)

    expect(await status(old.key)).toBe(401)
  })

  test('a claimed account is kept', async () => {
    const signed = await signUp('zoe-one', zoe)
    await claimAgents(grid, signed.link)
    const before = await dump(grid, { ...grid.acme, id: signed.home }, ['credentials', 'agents'])

    grid.clock.now += 60 * day
    await sweep(grid.store)

    expect(await status(signed.key)).toBe(200)
    expect(await dump(grid, { ...grid.acme, id: signed.home }, ['credentials', 'agents'])).toBe(before)
  })

  test('an account that is claimed after a sweep has found it, but before its removal, is not removed', async () => {
    const signed = await signUp('zoe-one', zoe)
    const { agents } = await openClaim(grid.store, signed.link)
    grid.clock.now += 8 * day
    const { retention } = grid.store.global
    const found = await retention.unclaimed(grid.clock.now - 7 * day, grid.clock.now, 10)
    expect(found).toEqual([{ id: signed.home }])

    await claimAgents(grid, signed.link)
    const account = grid.store.account(signed.home, { type: 'system', job: 'retention' })
    const removal = account.write(account.change.removal.beginUnclaimed(grid.clock.now - 7 * day, grid.clock.now))

    await expect(removal).rejects.toMatchObject({ code: 'write_conflict' })
    expect(await status(signed.key)).toBe(200)
    expect(await account.read.agents.byId(agents[0].id)).toMatchObject({ alias: 'zoe-one' })
  })

  test('the removal of an unclaimed account is refused at the commit if the account is new or on trial', async () => {
    const signed = await signUp('zoe-one', zoe)
    const at = grid.clock.now
    const account = grid.store.account(signed.home, { type: 'system', job: 'retention' })
    const remove = (until: number, now: number) => account.write(account.change.removal.beginUnclaimed(until, now))

    await expect(remove(at - 1, at + 2 * day)).rejects.toMatchObject({ code: 'write_conflict' })
    await expect(remove(at, at + hour)).rejects.toMatchObject({ code: 'write_conflict' })
    expect(await status(signed.key)).toBe(200)
    await remove(at, at + 2 * day)
    expect(await status(signed.key)).toBe(401)
  })

  test('an account that is claimed during a sweep does not prevent the removal of others', async () => {
    const [claimed, other] = [await signUp('zoe-one', zoe), await signUp('yan-one', 'yan@owner.example')]
    await claimAgents(grid, claimed.link)
    grid.clock.now += 8 * day
    const found = vi.spyOn(grid.store.global.retention, 'unclaimed')
    found.mockResolvedValueOnce([{ id: claimed.home }, { id: other.home }])
    await sweep(grid.store)
    found.mockRestore()

    expect([await status(claimed.key), await status(other.key)]).toEqual([200, 401])
    expect(grid.logs.filter((line) => line.includes('were not removed'))).toEqual([])
  })

  test('two simultaneous sweeps remove every unclaimed account without errors', async () => {
    const signed = []
    for (let n = 0; n < 6; n++) signed.push(await signUp(`agent-${n}`, `owner-${n}@new.example`))
    grid.clock.now += 8 * day

    await Promise.all([sweep(grid.store), sweep(grid.store)])
    await sweep(grid.store)

    for (const { key, home } of signed) {
      expect(await status(key)).toBe(401)
      expect(await rowCounts(home)).toEqual({ agents: 1, agent_numbers: 1 })
    }
    expect(grid.logs.filter((line) => line.includes('were not removed'))).toEqual([])
  }, 300_000)
})

const signUp = (alias: string, email: string, more = {}) => signUpAs(grid, email, alias, more)

/** Leases one of the agent's messages and releases it. */
async function leaseAndRelease({ id, home, alias }: SignedUp): Promise<void> {
  const account = storeOf(grid, { id, alias }, { id: home })
  const { lease } = await readMessages(account, { limit: 1 })
  await leaseOf(account, lease!.id).release()
  expect(await rows(grid, 'SELECT 1 FROM lease_releases WHERE account_id = ?', [home])).toHaveLength(1)
}

/** Returns the number of an account's rows in each non-empty table. */
async function rowCounts(home: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of accountTables) {
    const { length } = await rows(grid, `SELECT 1 FROM "${table}" WHERE "account_id" = ?`, [home])
    if (length > 0) counts[table] = length
  }
  return counts
}

const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status
