/** An account deleted by its owner is hidden immediately, stored for 7 days, and then removed. */
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { deleteAccount, restoreAccount } from '../../../src/grid/accounts/deletion.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { waitForMessages } from '../../../src/grid/messaging/wait-for-messages.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { day, minute } from '../../../src/lib/time.ts'
import { failTasks, sweep } from '../../../src/worker/retention.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { dump, rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { followIdle } from '../../support/idle.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { accessTokenFor } from '../../support/oauth-token.ts'
import { type Person, person, signedIn } from '../../support/people.ts'
import { messageResult, remoteAgent } from '../../support/remote-agent.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { askFor } from '../../support/tasks.ts'
import { accountTables } from '../../support/tripwire.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: TestGrid
let owner: Person
let open: TestAgent
const settings = () => `/accounts/${grid.acme.id}/settings/account`
const status = async (key: string) => (await mcp(grid, key, 'tools/list')).status

beforeEach(async () => {
  grid = await testGrid()
  owner = await person(grid, { role: 'owner', email: 'olga@acme.example' })
  await callTool(grid, grid.bob.key, 'send_message', { to: 'alice', message: 'before' })
  open = await grid.acme.agent('front-desk', { visibility: 'public' })
  const sent = await callTool(grid, grid.eve.key, 'send_message', { to: 'front-desk', message: 'from another account' })
  expect(sent).toMatchObject({ code: undefined })
  await askFor(storeOf(grid, grid.alice), 'a question')
  await grid.store.drained()
})

test('deleting an account requires its name and blocks all access, and an owner can restore the account unchanged', async () => {
  const { acme, alice, eve } = grid
  const one = await signedIn(grid, owner)
  const wrong = await postWithToken(one, `${settings()}/delete`, { confirmation: 'Acne' })
  expect(wrong.text).toContain('not the name of the account')
  expect(await status(alice.key)).toBe(200)

  const after = await postWithToken(one, `${settings()}/delete`, { confirmation: 'Acme' })

  expect(after.text).toContain('Acme is deleted')
  expect([await status(alice.key), await status(acme.adminKey)]).toEqual([401, 401])
  expect((await one.request(settings())).status).toBe(404)
  const sent = await callTool(grid, eve.key, 'send_message', { to: 'front-desk', message: 'lost?' })
  expect(sent).toMatchObject({ code: 'recipient_not_found' })
  const other = await signedIn(grid, await person(grid, { role: 'admin' }))
  expect((await other.open('/new-account')).text).not.toContain('is deleted')

  const back = await one.submit('/new-account', {}, `/new-account/${acme.id}/restore`)
  expect(back.text).toContain('The account is restored')
  expect([await status(alice.key), await status(acme.adminKey)]).toEqual([200, 200])
  expect(JSON.stringify(await callTool(grid, open.key, 'read_messages', {}))).toContain('from another account')
  expect((await activityOf(grid)).map(({ tool }) => tool)).toEqual(
    expect.arrayContaining(['delete_account', 'restore_account']),
  )
})

test("7 days after an account's deletion its data is removed, and other accounts' data is unchanged", async () => {
  const { acme, evil, alice } = grid
  // Rows of these tables are also removed by age, so the dumps omit them.
  const aging = ['usage', 'conversation_turns']
  const before = await dump(grid, evil, aging)
  await deleteAccount(acme.store, { name: 'Acme' })
  grid.clock.now += 7 * day - 1
  await sweep(grid.store)
  await restoreAccount(acme.store)
  expect(await status(alice.key)).toBe(200)
  await deleteAccount(acme.store, { name: 'Acme' })
  grid.clock.now += 7 * day
  await expect(restoreAccount(acme.store)).rejects.toMatchObject({ code: 'not_found' })
  await sweep(grid.store)

  const left: Record<string, number> = {}
  for (const table of accountTables) {
    const { length } = await rows(grid, `SELECT 1 FROM "${table}" WHERE account_id = ?`, [acme.id])
    if (length > 0) left[table] = length
  }
  expect(Object.keys(left).sort()).toEqual(['agent_numbers', 'agents', 'deliveries'])
  expect(await dump(grid, acme)).not.toMatch(/alice|before|olga/)
  expect(await dump(grid, evil, aging)).toBe(before)
  expect(grid.logs.filter((line) => line.includes('were not removed'))).toEqual([])
})

test("a removed account's aliases become pending on other accounts' access lists, so nobody inherits its trust", async () => {
  const { acme, evil } = grid
  await evil.agent('club', { visibility: 'public', accessPolicy: 'allow_list', accessList: ['front-desk'] })
  const listed = () => rows(grid, 'SELECT alias, pending FROM agent_access WHERE account_id = ?', [evil.id])
  expect(await listed()).toEqual([{ alias: 'front-desk', pending: 0 }])
  await deleteAccount(acme.store, { name: 'Acme' })
  grid.clock.now += 7 * day
  await sweep(grid.store)

  expect(await listed()).toEqual([{ alias: 'front-desk', pending: 1 }])
})

test("tasks that wait for a deleted account's agents fail, and its messages to other accounts are removed", async () => {
  const { acme, evil, alice, store } = grid
  const desk = await evil.agent('desk', { visibility: 'public' })
  await callTool(grid, alice.key, 'send_message', { to: 'desk', message: 'to another account' })
  const client = storeOf(grid, desk, evil)
  const { id } = await askFor(client, 'help', { to: '@front-desk' })
  const unread = () => client.read.inbox.unread(desk.id)
  expect(await unread()).toBe(1)
  await deleteAccount(acme.store, { name: 'Acme' })
  await failTasks(store)
  expect((await getTask(client, id)).status).toMatchObject({ state: 'failed' })

  grid.clock.now += 7 * day
  await sweep(store)

  expect([await unread(), (await callTool(grid, desk.key, 'read_messages')).text]).toEqual([0, []])
})

test('restoring an account does not restore what was deleted or revoked before its deletion', async () => {
  const { acme, alice } = grid
  const carol = await acme.agent('carol')
  await deleteAgent(acme.store, 'carol')
  grid.clock.now += minute
  await deleteAccount(acme.store, { name: 'Acme' })
  await expect(deleteAccount(acme.store, { name: 'Acme' })).rejects.toMatchObject({ code: 'write_conflict' })
  grid.clock.now += minute
  const setState = (state: string) => rows(grid, 'UPDATE accounts SET state = ? WHERE id = ?', [state, acme.id])
  await setState('removing')
  await expect(restoreAccount(acme.store)).rejects.toMatchObject({ code: 'not_found' })
  await setState('claimed')
  await restoreAccount(acme.store)

  expect([await status(alice.key), await status(carol.key)]).toEqual([200, 401])
  expect(await callTool(grid, alice.key, 'send_message', { to: 'carol', message: 'back?' }))
    .toMatchObject({ code: 'recipient_not_found' })
  await expect(restoreAccount(acme.store)).rejects.toMatchObject({ code: 'not_found' })
})

test('only an owner with a recent confirmation can delete an account, and only an owner can restore it', async () => {
  const by = (role: 'owner' | 'admin', more = {}) => grid.store.account(grid.acme.id, { ...owner.actor(role), ...more })
  const input = { name: 'Acme' }

  await expect(deleteAccount(by('admin'), input)).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(deleteAccount(by('owner', { confirmedAt: null }), input))
    .rejects.toMatchObject({ code: 'confirmation_required' })
  await deleteAccount(by('owner'), input)
  await expect(restoreAccount(by('admin'))).rejects.toMatchObject({ code: 'not_allowed' })
  await restoreAccount(by('owner'))
})

test('a waiting read ends immediately when its account is deleted', async () => {
  const idle = followIdle(grid.store)
  const authenticate = createAuthenticator(grid.store)
  const authorization = `Bearer ${open.key}`
  const account = await authenticate(authorization)
  await callTool(grid, open.key, 'read_messages')
  const wait = waitForMessages(account, {}, { seconds: 50, check: () => authenticate(authorization, account) })
  const end = expect(wait).rejects.toMatchObject({ code: 'unauthenticated' })
  await idle(1)

  await deleteAccount(grid.acme.store, { name: 'Acme' })

  await end
})

test('OAuth clients of a deleted account are refused until the account is restored', async () => {
  const { token } = await accessTokenFor(grid, owner.id, grid.acme.id)
  expect(await status(token)).toBe(200)
  await deleteAccount(grid.acme.store, { name: 'Acme' })
  expect(await status(token)).toBe(401)
  await restoreAccount(grid.acme.store)
  expect(await status(token)).toBe(200)
})

test("a deleted account's remote agents are paused until it is restored", async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  const { acme } = grid
  const remote = await remoteAgent(() => messageResult('ok'))
  await acme.agent('robot', { type: 'a2a', remoteUrl: remote.url })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'robot', message: 'hello' })
  await followLog(grid.store)
  await deleteAccount(acme.store, { name: 'Acme' })
  const outboxes = new TestOutboxes(grid.store)
  const run = async () => {
    grid.clock.now += minute
    await outboxes.run()
    await outboxes.settled()
  }

  await run()
  expect(remote.calls.length).toBe(0)
  await restoreAccount(acme.store)
  await run()
  expect(remote.calls.length).toBe(1)
  await outboxes.stop()
  await remote.close()
})
