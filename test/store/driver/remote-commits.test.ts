/** Commits on a libsql-server. Units share requests and a persistent stream, and are otherwise independent. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { openPost } from '../../../src/store/driver/remote-stream.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { rows } from '../../support/database.ts'
import { type TestAccount, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'

const send = openPost({ ms: 60_000 })
const baton = /"baton":"[^"]+"/

let server: Sqld
let grid: TestGrid
/** The bodies of requests that contain a commit. */
let commits: string[] = []
let tamper = (body: string) => body
/** The agents that send and read in these tests, in two accounts. */
let agents: { account: TestAccount; agent: TestAgent }[]

beforeAll(async () => {
  server = await startSqld({ isRelaxed: true })
  grid = await testGrid({
    url: server.url,
    async post(url, headers, sent) {
      const body = tamper(sent)
      if (body.includes('COMMIT')) commits.push(body)
      return await send(url, headers, body)
    },
  })
  agents = []
  for (const [i, account] of [grid.acme, grid.evil, grid.acme, grid.evil, grid.acme, grid.acme].entries()) {
    agents.push({ account, agent: await account.agent(`agent-${i}`) })
  }
})
afterAll(async () => {
  await grid.close()
  await server.stop()
})
beforeEach(() => commits = [])
afterEach(() => tamper = (body) => body)

test('simultaneous sends share one commit, and so do simultaneous reads', async () => {
  const sent = await Promise.all(
    agents.map(({ account, agent }, i) => sendMessage(as(account, agent), { to: agent.alias, text: `to ${i}` })),
  )
  expect(commits.map(stepsOf)).toEqual([5 * agents.length])
  commits = []
  const received = await Promise.all(agents.map(({ account, agent }) => readMessages(as(account, agent), {})))

  expect(commits.map(stepsOf)).toEqual([3 * agents.length])
  expect(received.map(({ messages, remaining }) => [...messages.map(({ message_id }) => message_id), remaining]))
    .toEqual(sent.map(({ id }) => [id, 0]))
  // Each receipt counts the unread messages at the commit.
  expect(sent.map(({ recipientUnread }) => recipientUnread)).toEqual(agents.map(() => 1))
  for (const [i, { account }] of agents.entries()) {
    const [row] = await rows(grid, 'SELECT account_id, body FROM messages WHERE account_id = ? AND id = ?', [
      account.id,
      sent[i].id,
    ])
    expect({ ...row }).toEqual({ account_id: account.id, body: `to ${i}` })
  }
  for (const { lease } of received) lease!.ack()
  await grid.store.drained()
  for (const { id } of [grid.acme, grid.evil]) {
    expect(await rows(grid, 'SELECT id FROM leases WHERE account_id = ?', [id])).toEqual([])
  }
})

test('a unit that violates a constraint fails alone, and the others are stored', async () => {
  const store = (key: string, value: string | null) =>
    grid.store.write([{
      sql: 'INSERT INTO store_facts (key, value) VALUES (?, ?)',
      args: [key, value],
    }])

  const outcomes = await Promise.allSettled([store('a', '1'), store('b', null), store('c', '3')])

  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'write_conflict' })
  expect(commits.map(stepsOf)).toEqual([3, 1, 1, 1])
  expect(
    (await rows(grid, "SELECT key FROM store_facts WHERE key IN ('a', 'b', 'c') ORDER BY key")).map(({ key }) => key),
  )
    .toEqual(['a', 'c'])
})

test('commits share one stream, and a stream that the server has dropped is replaced', async () => {
  const send = (text: string) => sendMessage(as(grid.acme, grid.alice), { to: 'bob', text })
  await send('1')
  await send('2')
  expect(commits.at(-1)).toMatch(baton)
  tamper = (body) => body.includes('COMMIT') ? body.replace(baton, '"baton":"forgotten"') : body
  commits = []
  await send('3')

  expect(commits.map((body) => baton.test(body))).toEqual([true, false])
  expect((await read(as(grid.acme, grid.bob))).map(({ message }) => message)).toEqual(['1', '2', '3'])
})

test("commits succeed even after more failed commits than the server's limit of open streams", async () => {
  const broken = { sql: 'INSERT INTO store_facts (key, value) VALUES (NULL, NULL)', args: [] }
  for (let n = 0; n < 150; n++) {
    await expect(grid.store.write([broken])).rejects.toMatchObject({ code: 'write_conflict' })
  }

  expect(commits.slice(1).filter((body) => !baton.test(body))).toEqual([])
  await expect(sendMessage(as(grid.acme, grid.alice), { to: 'bob', text: 'still there' })).resolves.toBeDefined()
})

/** Returns the number of statements in a commit. */
function stepsOf(body: string): number {
  const [{ batch }] = JSON.parse(body).requests.filter(({ type }: { type: string }) => type === 'batch')
  return batch.steps.length - ['BEGIN', 'COMMIT', 'ROLLBACK'].length
}

async function read(account: AccountStore) {
  const { messages, lease } = await readMessages(account, {})
  lease?.ack()
  return messages
}

function as(account: TestAccount, { id, alias }: TestAgent): AccountStore {
  return grid.store.account(account.id, { type: 'agent', agentId: id, alias, credentialId: 'test', isUnlimited: true })
}
