/** Erasing an agent's words. Each test sends a word in many ways, and searches every table for the word afterwards. */
import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { eraseWords } from '../../../src/grid/accounts/erase-words.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { dump, rows } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { person, signedIn } from '../../support/people.ts'
import { callRest } from '../../support/rest.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { askFor } from '../../support/tasks.ts'
import { accountTables } from '../../support/tripwire.ts'

const word = 'zwiebelkuchen'

test("erasing an agent's words removes them from every table, keeps other agents' words, and reports the counts", async () => {
  const grid = await testGrid(testProviders())
  const { alice, bob, acme } = grid
  await acme.store.write([acme.store.change.profile.showContents(true)])
  await guard(acme, 'alice', { direction: 'outbound' })
  const sender = storeOf(grid, alice)
  const asked = await askFor(storeOf(grid, bob), 'bring me a cake', { to: '@alice' })
  await callTool(grid, alice.key, 'read_messages', {})
  const artifact = { id: 'cake', name: `a ${word}` }
  const completed = await callTool(grid, alice.key, 'update_task', {
    task_id: asked.id,
    state: 'completed',
    text: word,
    artifact,
  })
  expect(completed).toMatchObject({ text: { state: 'completed' } })
  await callTool(grid, alice.key, 'send_message', { to: 'bob', message: `a ${word}`, idempotency_key: word })
  await sendMessage(sender, {
    to: 'bob',
    text: 'see',
    a2a: { messageId: 'm', parts: [{ text: `${word} `.repeat(2_000) }] },
  })
  await sendMessage(sender, { to: 'bob', text: `${word} ${secret}`, idempotencyKey: 'blocked' }).catch(() => {})
  await callTool(grid, bob.key, 'send_message', { to: 'alice', message: 'an answer that stays' })
  await grid.store.drained()
  expect(await tablesWith(grid, word)).not.toEqual([])

  const { rows: counts } = await eraseWords(acme.store, '@alice')

  expect(await tablesWith(grid, word)).toEqual([])
  expect(counts).toMatchObject({
    messages: expect.any(Number),
    deliveries: expect.any(Number),
    parts: 1,
    blocked_sends: 1,
  })
  const hits = await rows(grid, `SELECT rowid FROM message_search WHERE message_search MATCH '"w${word}"'`)
  expect(hits).toEqual([])
  expect(await rows(grid, 'SELECT 1 FROM verdicts WHERE account_id = ?', [acme.id])).toEqual([])
  expect(await dump(grid, acme)).toContain('an answer that stays')
  // Erasing again finds nothing.
  expect(await eraseWords(acme.store, 'alice')).toEqual({ alias: 'alice', rows: {} })
})

test("erasing an agent's words also removes its messages, results and blocked texts from other accounts", async () => {
  const grid = await testGrid(testProviders())
  const { acme, evil } = grid
  const baker = await acme.agent('baker', { visibility: 'public' })
  const desk = await evil.agent('desk', { visibility: 'public' })
  await evil.store.write([evil.store.change.profile.showContents(true)])
  await guard(evil, 'desk', { direction: 'inbound' })
  await guard(evil, 'desk', { name: 'spices', direction: 'inbound', action: 'redact', config: { phrases: ['nutmeg'] } })
  const { id } = await askFor(storeOf(grid, desk, evil), 'bring me a cake', { to: '@baker' })
  await callTool(grid, baker.key, 'read_messages', {})
  const artifact = { id: 'cake', name: `a ${word}` }
  const done = await callTool(grid, baker.key, 'update_task', { task_id: id, state: 'completed', text: word, artifact })
  expect(done).toMatchObject({ text: { state: 'completed' } })
  const send = (message: string) => callTool(grid, baker.key, 'send_message', { to: 'desk', message })
  expect((await send(`a ${word} with nutmeg`)).code).toBeUndefined()
  expect((await send(`${word} ${secret}`)).code).toBe('guardrail_blocked')
  const ofAlice = { to: 'desk', message: `a recipe of ${secret}` }
  expect((await callTool(grid, grid.alice.key, 'send_message', ofAlice)).code).toBe('guardrail_blocked')
  await grid.store.drained()
  expect(await tablesWith(grid, word)).toEqual(expect.arrayContaining(['artifacts', 'messages', 'verdicts']))

  const { rows: counts } = await eraseWords(acme.store, 'baker')

  expect(await tablesWith(grid, word)).toEqual([])
  expect(counts).toMatchObject({ messages: 2, artifacts: 1, verdicts: 1, 'verdicts of others': 1 })
  // The other account keeps the case of the blocked message, but without the text.
  expect(await rows(grid, 'SELECT sender_alias, content FROM verdicts WHERE account_id = ? ORDER BY 1', [evil.id]))
    .toEqual([{ sender_alias: 'alice', content: expect.stringContaining('recipe') }, {
      sender_alias: 'baker',
      content: null,
    }])
  expect((await callTool(grid, desk.key, 'read_messages')).text).toEqual([])
})

test("erasing finds a deleted agent's words among many messages of other agents", async () => {
  const grid = await testGrid()
  const { alice, bob, acme } = grid
  const others = (count: number) =>
    Promise.all(Array.from({ length: count }, () => sendMessage(storeOf(grid, bob), { to: 'alice', text: 'kept' })))
  await others(200)
  await sendMessage(storeOf(grid, alice), { to: 'bob', text: word })
  await others(1)
  await deleteAgent(acme.store, 'alice')
  const successor = await acme.agent('alice')
  await sendMessage(storeOf(grid, successor), { to: 'bob', text: `more ${word}` })

  expect((await eraseWords(acme.store, 'alice')).rows).toEqual({ messages: 3, deliveries: 3 })

  expect(await tablesWith(grid, word)).toEqual([])
  expect(await rows(grid, `SELECT 1 FROM messages WHERE account_id = ?`, [acme.id])).toHaveLength(201)
})

test("erasing removes all rows of the agent's unsent files, and keeps other agents' files", async () => {
  const grid = await testGrid()
  const uploadRows = async () =>
    (await rows(grid, 'SELECT 1 FROM upload_rows WHERE account_id = ?', [grid.acme.id])).length
  const upload = async (key: string, bytes: number) => {
    const { body } = await callRest(grid, key, 'POST /api/v1/parts', { bytes })
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/octet-stream' }
    const path = `/api/v1/parts/${body.upload_id}?offset=0`
    expect((await grid.request(path, { method: 'PUT', headers, body: Buffer.alloc(bytes) })).status).toBe(200)
  }
  await upload(grid.alice.key, 27 * 64 * 1024)
  await upload(grid.bob.key, 64 * 1024)
  expect(await uploadRows()).toBe(28)

  expect((await eraseWords(grid.acme.store, 'alice')).rows).toEqual({ uploads: 1 })

  expect(await uploadRows()).toBe(1)
  expect(await rows(grid, 'SELECT 1 FROM uploads WHERE account_id = ?', [grid.acme.id])).toHaveLength(1)
})

test('only an owner with a recent confirmation can erase words, and only for an alias of the account', async () => {
  const grid = await testGrid()
  const { store } = grid.acme
  const by = (role: 'owner' | 'admin') =>
    grid.store.account(grid.acme.id, { type: 'user', userId: 'nobody', role, sessionId: '' })

  await expect(eraseWords(by('admin'), 'alice')).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(eraseWords(by('owner'), 'alice')).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(eraseWords(store, 'eve')).rejects.toMatchObject({ code: 'agent_not_found' })
})

test("an owner can erase an agent's words on the agent's page, which then shows what was removed and who still has copies", async () => {
  const grid = await testGrid({ env: { BACKUP_DIR: 'backups', BACKUP_PLAIN: '1', BACKUP_KEEP: '7' } })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: word })
  const one = await signedIn(grid, await person(grid, { role: 'owner' }))

  const page = await postWithToken(one, `/accounts/${grid.acme.id}/agents/alice/erase-words`)

  expect(page.text).toMatch(
    /The messages are erased.*messages 1.*Scheduled backups have the words for up to 7 more days/s,
  )
  expect((await activityOf(grid)).map(({ tool }) => tool)).toContain('erase_words')
})

/** Returns the tables that contain a word in any column. */
async function tablesWith(grid: TestGrid, word: string): Promise<string[]> {
  const tables: string[] = []
  for (const table of accountTables) {
    for (const { id } of [grid.acme, grid.evil]) {
      const all = await rows(grid, `SELECT * FROM "${table}" WHERE account_id = ?`, [id])
      if (all.some((row) => JSON.stringify(row).includes(word))) tables.push(table)
    }
  }
  return tables
}
