/** Erasing what an agent has written: a word that went every way is nowhere afterwards. */
import { expect, test } from 'vitest'
import { eraseWords } from '../../../src/grid/accounts/erase-words.ts'
import { dump, rows } from '../../support/database.ts'
import { storeOf, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { sendMessage } from '../../support/messaging.ts'
import { person, signedIn } from '../../support/people.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { askFor } from '../../support/tasks.ts'
import { accountTables } from '../../support/tripwire.ts'

const word = 'zwiebelkuchen'

test('no table has a word of the agent, others keep theirs, and the counts say what went', async () => {
  const grid = await testGrid(testProviders())
  const { alice, bob, eve, acme } = grid
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
  await callTool(grid, alice.key, 'send_message', { to: 'eve', message: `to another account: ${word}` })
  await sendMessage(sender, {
    to: 'bob',
    text: 'see',
    a2a: { messageId: 'm', parts: [{ text: `${word} `.repeat(2_000) }] },
  })
  await sendMessage(sender, { to: 'bob', text: `${word} ${secret}`, idempotencyKey: 'blocked' }).catch(() => {})
  await callTool(grid, bob.key, 'send_message', { to: 'alice', message: 'an answer that stays' })
  await grid.store.drained()
  expect(await found()).not.toEqual([])

  const { rows: counts } = await eraseWords(acme.store, '@alice')

  expect(await found()).toEqual([])
  expect(counts).toMatchObject({
    messages: expect.any(Number),
    deliveries: expect.any(Number),
    parts: 1,
    blocked_sends: 1,
  })
  const hits = await rows(grid, `SELECT rowid FROM message_search WHERE message_search MATCH '"${word}"'`)
  expect(hits).toEqual([])
  expect(await dump(grid, acme)).toContain('an answer that stays')
  expect(JSON.stringify(await callTool(grid, eve.key, 'read_messages', {}))).not.toContain(word)
  // Nothing is left for a second time.
  expect(await eraseWords(acme.store, 'alice')).toEqual({ alias: 'alice', rows: {} })

  /** The tables that have the word in any column. */
  async function found(): Promise<string[]> {
    const tables: string[] = []
    for (const table of accountTables) {
      for (const { id } of [acme, grid.evil]) {
        const all = await rows(grid, `SELECT * FROM "${table}" WHERE account_id = ?`, [id])
        if (all.some((row) => JSON.stringify(row).includes(word))) tables.push(table)
      }
    }
    return tables
  }
})

test('only an owner who has just confirmed erases words, and only of an alias of the account', async () => {
  const grid = await testGrid()
  const { store } = grid.acme
  const by = (role: 'owner' | 'admin') =>
    grid.store.account(grid.acme.id, { type: 'user', userId: 'nobody', role, sessionId: '' })

  await expect(eraseWords(by('admin'), 'alice')).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(eraseWords(by('owner'), 'alice')).rejects.toMatchObject({ code: 'not_allowed' })
  await expect(eraseWords(store, 'eve')).rejects.toMatchObject({ code: 'agent_not_found' })
})

test('an owner does it on the page of the agent, which then says what went and who still has it', async () => {
  const grid = await testGrid({ env: { BACKUP_DIR: 'backups', BACKUP_PLAIN: '1', BACKUP_KEEP: '7' } })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: word })
  const one = await signedIn(grid, await person(grid, { role: 'owner' }))

  const page = await postWithToken(one, `/accounts/${grid.acme.id}/agents/alice/erase-words`)

  expect(page.text).toMatch(/The words are erased.*messages 1.*Scheduled backups have the words for up to 7 more days/s)
  expect((await activityOf(grid)).map(({ tool }) => tool)).toContain('erase_words')
})
