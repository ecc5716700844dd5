/** Accounts that nobody claims are removed (security: section 4 rule 8, T8, A2), with the clock stepped. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GridError } from '../../src/errors.ts'
import { recorded } from '../../src/grid/activity.ts'
import { claimAccount, openClaim } from '../../src/grid/accounts/claim.ts'
import { giveBack } from '../../src/grid/messaging/leases.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { day, hour } from '../../src/lib/time.ts'
import { sweep } from '../../src/worker/retention.ts'
import { dump, rows } from '../support/database.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { TestGrid } from '../support/grid.ts'
import { callTool, mcp } from '../support/mcp.ts'
import { person } from '../support/people.ts'
import { accountTables } from '../support/tripwire.ts'

const zoe = 'zoe@new.example'

let grid: TestGrid

onEachDatabase((open) => {
  beforeEach(async () => {
    grid = await open({ env: { SIGNUP_PER_HOUR: '1000' } })
  })
  afterEach(() => grid.close())

  test('A2: after 7 days nothing but ids is left, keys are refused, and the alias is anybody’s', async () => {
    const one = await signUp('zoe-one', zoe, { description: 'counts beans', skills: ['beans', 'peas'] })
    const two = await signUp('zoe-two', zoe)
    await callTool(grid, one.key, 'send_message', { to: 'zoe-two', message: 'hi', idempotency_key: 'k' })
    await returnOne(two)
    const before = [await dump(grid, grid.acme), await dump(grid, grid.evil)]

    grid.clock.now += 7 * day - 1
    await sweep(grid.store)
    expect(await status(one.key)).toBe(200)
    grid.clock.now += 1
    await sweep(grid.store)

    expect([await status(one.key), await status(two.key)]).toEqual([401, 401])
    expect(await leftOf(one.home)).toEqual({ agents: 2 })
    expect(await dump(grid, { ...grid.acme, id: one.home })).not.toMatch(/zoe|beans/)
    expect([await dump(grid, grid.acme), await dump(grid, grid.evil)]).toEqual(before)
    await expect(openClaim(grid.store, one.token)).rejects.toMatchObject({ code: 'link_expired' })
    const other = await signUp('zoe-one', 'yan@new.example')
    expect(other.home).not.toBe(one.home)
    const again = await signUp('zoe-three', zoe)
    expect(again.home).not.toBe(one.home)
    expect(await status(again.key)).toBe(200)
  })

  test('an account that was joined of late stays until the trial there is over', async () => {
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

  test('what is claimed in time stays, however late its owner looks again', async () => {
    const signed = await signUp('zoe-one', zoe)
    await claim(signed)
    const before = await dump(grid, { ...grid.acme, id: signed.home }, ['credentials', 'agents'])

    grid.clock.now += 60 * day
    await sweep(grid.store)

    expect(await status(signed.key)).toBe(200)
    expect(await dump(grid, { ...grid.acme, id: signed.home }, ['credentials', 'agents'])).toBe(before)
  })

  test('an account is claimed or removed, never both: of two at one moment the first to commit wins', async () => {
    const signed = await signUp('zoe-one', zoe)
    const { agents } = await openClaim(grid.store, signed.token)
    grid.clock.now += 8 * day
    const { retention } = grid.store.global
    const found = await retention.unclaimed(grid.clock.now - 7 * day, grid.clock.now, 10)
    expect(found).toEqual([{ id: signed.home }])

    await claim(signed)
    const account = grid.store.account(signed.home, { type: 'system', job: 'retention' })
    const removal = account.write(account.change.unclaimed.remove(grid.clock.now - 7 * day, grid.clock.now))

    await expect(removal).rejects.toMatchObject({ code: 'write_conflict' })
    expect(await status(signed.key)).toBe(200)
    expect(await account.read.agents.byId(agents[0].id)).toMatchObject({ alias: 'zoe-one' })
  })

  test('what was tried with the account stays in its activity log, and the rest goes', async () => {
    const signed = await signUp('zoe-one', zoe)
    const account = grid.store.account(signed.home, { type: 'system', job: 'test' })
    const call = { tool: 'claim_account', arguments: {}, requestId: null }
    await recorded(account, call, () => Promise.reject(new GridError('claim_changed', 'Changed'))).catch(() => {})

    grid.clock.now += 8 * day
    await sweep(grid.store)

    expect(await leftOf(signed.home)).toEqual({ agents: 1, activity: 1 })
    expect(await account.read.activity.firstBroken()).toBeUndefined()
  })

  test('two sweeps at once remove every account once, and fail at none', async () => {
    const signed = []
    for (let n = 0; n < 6; n++) signed.push(await signUp(`agent-${n}`, `owner-${n}@new.example`))
    grid.clock.now += 8 * day

    await Promise.all([sweep(grid.store), sweep(grid.store)])
    await sweep(grid.store)

    for (const { key, home } of signed) {
      expect(await status(key)).toBe(401)
      expect(await leftOf(home)).toEqual({ agents: 1 })
    }
    expect(grid.logs.filter((line) => line.includes('were not removed'))).toEqual([])
  }, 300_000)
})

interface Signed {
  id: string
  home: string
  alias: string
  key: string
  token: string
}

async function signUp(alias: string, email: string, more: object = {}): Promise<Signed> {
  const response = await grid.post('/api/v1/agentic-signup', { owner_email: email, alias, ...more })
  const { api_key, trial } = await response.json()
  const token = trial.claim_url.split('/').at(-1)
  const { home, agents } = await openClaim(grid.store, token)
  return { id: agents.find((agent) => agent.alias === alias)!.id, home, alias, key: api_key, token }
}

async function claim(signed: Signed): Promise<void> {
  const { agents } = await openClaim(grid.store, signed.token)
  const { id } = await person(grid, { email: zoe })
  const claimant = { user: { id, email: zoe, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
  const keep = agents.map((agent) => agent.id)
  await claimAccount(grid.store, signed.token, claimant, { name: 'Zoe & Co', keep, discard: [] }, null)
}

/** One of the agent's messages is handed out and given back. */
async function returnOne({ id, home, alias }: Signed): Promise<void> {
  const account = grid.store.account(home, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  const { handOut } = await readMessages(account, {})
  await giveBack(account, handOut!)
  expect(await rows(grid, 'SELECT 1 FROM given_back WHERE account_id = ?', [home])).toHaveLength(1)
}

/** How many rows of an account there are, in the tables where there are any. */
async function leftOf(home: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of accountTables) {
    const { length } = await rows(grid, `SELECT 1 FROM "${table}" WHERE "account_id" = ?`, [home])
    if (length > 0) counts[table] = length
  }
  return counts
}

const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status
