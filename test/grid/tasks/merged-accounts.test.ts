/** Tasks of accounts that are claimed, and of those that are not. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../../../src/auth/bearer.ts'
import { mergeClaim, openClaim } from '../../../src/grid/accounts/claim.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestGrid } from '../../support/grid.ts'
import { person } from '../../support/people.ts'
import { askFor, eventsOf, inShort, storeOf } from '../../support/tasks.ts'

const email = 'zoe@new.example'
const tables = ['tasks', 'task_messages', 'task_events', 'artifacts', 'contexts']

onEachDatabase((open) => {
  let grid: TestGrid
  beforeEach(async () => {
    grid = await open({ env: { SIGNUP_PER_HOUR: '1000' } })
  })
  afterEach(() => grid.close())

  test('a claim that merges accounts moves tasks with their client, and they go on', async () => {
    const [zoe, mate] = [await signUp('zoe'), await signUp('mate')]
    const { id } = await askFor(zoe.store, 'a question', { to: '@mate', contextId: 'trip' })
    await updateTask(mate.store, { taskId: id, state: 'working', text: 'looking' })
    await updateTask(mate.store, { taskId: id, text: 'part one', artifact: { id: 'a' } })
    const user = await person(grid, { email, role: 'owner', hasPassword: false })
    const claimant = { user: { id: user.id, email, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
    const into = { id: grid.acme.id, account: grid.store.account(grid.acme.id, user.actor('owner')) }
    await mergeClaim(grid.store, zoe.link, claimant, into, { keep: [zoe.id, mate.id], discard: [] }, null)

    const [client, recipient] = [storeOf(grid, { ...zoe, key: '' }), storeOf(grid, { ...mate, key: '' })]
    await updateTask(recipient, { taskId: id, text: 'an answer' })

    const task = await getTask(client, id)
    expect(task.history.map(({ parts }) => parts)).toEqual([[{ text: 'a question' }], [{ text: 'looking' }]])
    expect(inShort(await eventsOf(client, id))).toEqual(['submitted', 'working', 'part one', 'an answer', 'completed'])
    for (const table of tables) {
      expect(await rows(grid, `SELECT * FROM ${table} WHERE account_id = ?`, [zoe.home])).toEqual([])
    }
    const again = await askFor(client, 'more', { to: '@mate', contextId: 'trip' })
    const found = await rows(grid, 'SELECT conversation_id FROM tasks WHERE account_id = ?', [grid.acme.id])
    expect(new Set(found.map(({ conversation_id }) => conversation_id)).size).toBe(1)
    expect(again.contextId).toBe('trip')
  })

  async function signUp(alias: string) {
    const response = await grid.post('/api/v1/agentic-signup', { owner_email: email, alias })
    const { api_key, trial } = await response.json()
    const link = trial.claim_url.split('/').at(-1)
    const { provisionalId: home, agents } = await openClaim(grid.store, link)
    const { id } = agents.find((agent) => agent.alias === alias)!
    return { id, alias, home, link, store: await createAuthenticator(grid.store)(`Bearer ${api_key}`) }
  }
})
