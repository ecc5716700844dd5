/** `agent-grid doctor --repair NAME`, and the former command names of these repairs. */
import { expect, test } from 'vitest'
import { confirmClock, rebuildConversations, repairs, rotateSigningKey } from '../../src/cli/doctor/repairs.ts'
import { serverCommands } from '../../src/cli/store-commands.ts'
import { readSigningKeys } from '../../src/grid/cards.ts'
import { rows } from '../support/database.ts'
import { storeOf, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'
import { runCommand } from '../support/process.ts'
import { wellGrid } from '../support/well-grid.ts'

test('rotate-signing-key creates a key that signs immediately, and removes all others', async () => {
  const grid = await testGrid()
  await readSigningKeys(grid.store)

  const { key } = await rotateSigningKey.run(grid.store, {})

  const { current, published } = await readSigningKeys(grid.store)
  expect([current!.id, published.map(({ kid }) => kid)]).toEqual([key, [key]])
})

test('rebuild-conversations clears the record of skipped messages', async () => {
  const grid = await testGrid()
  await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'hello' })
  await grid.store.write(['search', 'webhook messages'].map((follower) => ({
    sql: `INSERT INTO skipped_rows (account_id, follower, seq, reason, at) VALUES (?, ?, 1, 'an error', 1)`,
    args: [grid.acme.id, follower],
  })))

  await rebuildConversations.run(grid.store, {})

  const left = await rows(grid, 'SELECT follower FROM skipped_rows WHERE account_id = ?', [grid.acme.id])
  expect(left).toEqual([{ follower: 'webhook messages' }])
})

test("doctor --repair runs a repair, and a repair's former command names its replacement", async () => {
  const { env, remove } = await wellGrid()
  const repaired = await runCommand('bun', ['doctor', '--repair', confirmClock.name, '--json'], env)
  const old = await runCommand('bun', [confirmClock.name], env)
  remove()

  expect(JSON.parse(repaired.stdout)).toMatchObject({ clock: expect.any(String), stored_before: expect.any(String) })
  expect(old).toMatchObject({ code: 2, stderr: 'confirm-clock is now "agent-grid doctor --repair confirm-clock".\n' })
  expect(serverCommands).toEqual(expect.arrayContaining([...repairs]))
})
