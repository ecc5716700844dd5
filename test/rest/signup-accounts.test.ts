/** The accounts of signed-up agents, and the agents they can reach. See docs/security.md, "Signup and claims". */
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { listAgents } from '../../src/grid/agents/find-agent.ts'
import { messageStatus } from '../../src/grid/messaging/message-status.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { dump, rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { accountCount, agentsInAccountOf, claim, signedUp, signUp, signups } from '../support/signup.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '100' } })
})

test('signups for one unverified address share a provisional account and can write to each other', async () => {
  const one = await signedUp(grid, { alias: 'zoe-one' })
  const two = await signedUp(grid, { alias: 'zoe-two', owner_email: ' ANN@owner.example' })

  await sendMessage(one, { to: 'zoe-two', text: 'hi' })

  const { messages } = await readMessages(two, {})
  expect(messages).toMatchObject([{ user: '@zoe-one', message: 'hi', unverified: true }])
  expect((await readMessages(one, {})).messages).toEqual([])
  expect(await accountCount(grid)).toBe(3)
})

test('signups for different addresses cannot find each other', async () => {
  const one = await signedUp(grid, { alias: 'zoe-one' })
  await signedUp(grid, { alias: 'zoe-two', owner_email: 'else@where.example' })

  await expect(sendMessage(one, { to: 'zoe-two', text: 'hi' })).rejects.toMatchObject({ code: 'recipient_not_found' })
  expect((await listAgents(one, {})).agents).toEqual([])
})

test('a signup never joins a claimed account', async () => {
  await signedUp(grid, { alias: 'zoe-one' })
  await claim(grid, 'zoe-one')
  const before = await agentsInAccountOf(grid, 'zoe-one')

  const outsider = await signedUp(grid, { alias: 'zoe-two' })

  expect(await agentsInAccountOf(grid, 'zoe-one')).toEqual(before)
  await expect(sendMessage(outsider, { to: 'zoe-one', text: 'hi' })).rejects.toMatchObject({
    code: 'recipient_not_found',
  })
  expect(await accountCount(grid)).toBe(4)
})

test('a signup with the address of an existing user opens another account', async () => {
  const before = await dump(grid, grid.acme)

  await signedUp(grid, { alias: 'zoe-one', owner_email: 'ann@acme.example' })

  expect(await dump(grid, grid.acme)).toBe(before)
  expect(await accountCount(grid)).toBe(3)
})

test('SIGNUP_JOIN=never gives every signup its own account', async () => {
  grid = await testGrid({ env: { SIGNUP_JOIN: 'never' } })
  const one = await signedUp(grid, { alias: 'zoe-one' })
  await signedUp(grid, { alias: 'zoe-two' })

  await expect(sendMessage(one, { to: 'zoe-two', text: 'hi' })).rejects.toMatchObject({ code: 'recipient_not_found' })
  expect(await accountCount(grid)).toBe(4)
})

test('an account accepts 20 agents by signup, and the 21st opens another account', async () => {
  for (let n = 0; n < 21; n++) expect((await signUp(grid, { alias: `zoe-${n}` })).status).toBe(201)

  expect(await agentsInAccountOf(grid, 'zoe-0')).toHaveLength(20)
  expect(await agentsInAccountOf(grid, 'zoe-20')).toHaveLength(1)
  await signUp(grid, { alias: 'zoe-21' })
  expect(await agentsInAccountOf(grid, 'zoe-20')).toHaveLength(2)
})

test('50 parallel signups for one new address fill accounts of at most 20 agents', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => signUp(grid, { alias: `zoe-${n}` })))
  expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201))

  const stored = await signups(grid, 'ann@owner.example')
  const sizes = new Map<unknown, number>()
  for (const { account_id } of stored) sizes.set(account_id, (sizes.get(account_id) ?? 0) + 1)
  expect([...sizes.values()].sort()).toEqual([10, 20, 20])
})

test('of 50 signups parallel to a claim, none joins the account after the claim', async () => {
  await signUp(grid, { alias: 'zoe-first' })

  const early = Array.from({ length: 25 }, (_, n) => signUp(grid, { alias: `zoe-${n}` }))
  const claimed = claim(grid, 'zoe-first')
  const late = Array.from({ length: 25 }, (_, n) => signUp(grid, { alias: `zoe-${25 + n}` }))
  const answers = await Promise.all([...early, ...late])
  await claimed
  const atClaim = (await agentsInAccountOf(grid, 'zoe-first')).length
  await signUp(grid, { alias: 'zoe-last' })

  expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201))
  expect(await agentsInAccountOf(grid, 'zoe-first')).toHaveLength(atClaim)
  expect(await agentsInAccountOf(grid, 'zoe-last')).not.toContain('zoe-first')
})

test('a first, a joining and a separate signup get the same response, apart from key, alias and link', async () => {
  const first = await comparable(await signUp(grid, { alias: 'zoe-1' }))
  const joining = await comparable(await signUp(grid, { alias: 'zoe-2' }))
  await claim(grid, 'zoe-1')
  const separate = await comparable(await signUp(grid, { alias: 'zoe-3' }))
  const ofPerson = await comparable(await signUp(grid, { alias: 'zoe-4', owner_email: 'ann@acme.example' }))

  expect([joining, separate, ofPerson]).toEqual([first, first, first])
})

test("provisional agents and other accounts' public agents cannot reach each other", async () => {
  await grid.acme.agent('desk', { visibility: 'public' })
  const account = await signedUp(grid, { alias: 'zoe-one' })
  const [{ account_id }] = await signups(grid, 'ann@owner.example')
  await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ?", [String(account_id)])
  const alice = await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`)

  await expect(sendMessage(account, { to: 'desk', text: 'hi' })).rejects.toMatchObject({
    code: 'recipient_not_found',
  })
  await expect(sendMessage(alice, { to: 'zoe-one', text: 'hi' })).rejects.toMatchObject({
    code: 'recipient_not_found',
  })
  expect((await listAgents(account, { public: true })).agents).toEqual([])
  expect((await listAgents(alice, { public: true })).agents).toEqual([])
})

test('provisional agents can reach public agents after the claim', async () => {
  await grid.acme.agent('desk', { visibility: 'public' })
  const account = await signedUp(grid, { alias: 'zoe-one' })
  await claim(grid, 'zoe-one')

  const { id } = await sendMessage(account, { to: 'desk', text: 'hi' })

  expect(await messageStatus(account, id)).toMatchObject({ recipient: '@desk', delivery: 'queued' })
})

/** Removes the values that differ between any two signups from a response. */
async function comparable(response: Response): Promise<string> {
  const text = (await response.text()).replace(/grid_agt_\w+/g, 'KEY').replace(/claim\/\w+/g, 'LINK')
    .replace(/(?:@|--as )zoe-\d/g, 'ALIAS')
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id')
  return JSON.stringify([response.status, headers, text])
}
