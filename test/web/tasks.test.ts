/** Tasks on pages: on messages, in the task list, and in Attention. */
import { beforeEach, expect, test } from 'vitest'
import { setPeopleRead } from '../../src/grid/accounts/people-read.ts'
import { hour } from '../../src/lib/time.ts'
import { failTasks } from '../../src/worker/retention.ts'
import { followLog } from '../../src/worker/followers.ts'
import { rows } from '../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { signedInWithRole } from '../support/roles.ts'
import { askFor } from '../support/tasks.ts'

let grid: TestGrid
let base: string
beforeEach(async () => {
  grid = await testGrid()
  base = `/accounts/${grid.acme.id}`
})

async function ask(text: string, ...updates: Record<string, unknown>[]) {
  const { id } = await askFor(storeOf(grid, grid.alice), text)
  for (const update of updates) {
    const { code } = await callTool(grid, grid.bob.key, 'update_task', { task_id: id, ...update })
    expect(code).toBeUndefined()
    grid.clock.now += 1_000
  }
  await followLog(grid.store)
  return id
}

test("a task's message shows its state and history, and a failed task is not shown as answered", async () => {
  await ask('# Count the rows\nof the table', { state: 'working' }, { state: 'failed', text: 'no such table' })

  const owner = await signedInWithRole(grid, 'owner')
  const { text, html } = await owner.open(`${base}/conversations`)
  const page = await owner.open(`${base}${(await owner.open(`${base}/tasks`)).html.match(/\/messages\/\d+/)![0]}`)

  for (const shown of [text, page.text]) {
    expect(shown).toMatch(/Task: failed submitted .* working .* failed/)
    expect(shown).not.toContain('answered after')
  }
  expect(html.match(/<span class="names">.*?<time/s)![0]).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/)
})

test('the task list has filters, and shows agents and first lines, except for tasks that the reader may not read', async () => {
  const failed = await ask('# Count the rows\nof the table', { state: 'failed' })
  await ask('Tell me', { state: 'input-required', text: 'which one?' })
  await ask('Work', { state: 'working' })
  const owner = await signedInWithRole(grid, 'owner')
  const viewer = await signedInWithRole(grid, 'viewer')

  const all = await owner.open(`${base}/tasks`)
  expect(all.text).toMatch(
    /Work working @alice asked @bob .* Tell me which one\? input required .* Count the rows failed/,
  )
  expect(all.text).not.toContain('of the table')
  expect(all.text).not.toContain(failed)
  const onlyFailed = await owner.open(`${base}/tasks?state=failed`)
  expect(onlyFailed.text).toContain('Count the rows')
  expect(onlyFailed.text).not.toContain('Tell me')
  expect((await viewer.open(`${base}/tasks`)).text).not.toContain('Count the rows')

  const attention = await owner.open(`${base}/attention`)
  expect(attention.text).toContain('A task from @alice for @bob failed')
  expect(attention.text).toContain('@bob needs input from @alice for a task')
  await setPeopleRead(grid.acme.store, { choice: 'off' })
  expect((await owner.open(`${base}/tasks`)).text).not.toContain('Count the rows')
})

test('permitted readers see why a task failed, except on Home', async () => {
  await ask('Build it', { state: 'failed', text: 'The SDK needs Node 22' })
  await ask('Log in', { state: 'auth-required', text: 'Which account?' })
  const owner = await signedInWithRole(grid, 'owner')
  const member = await signedInWithRole(grid, 'member')

  for (const page of ['tasks', 'attention']) {
    const [own, others] = await Promise.all([owner, member].map((one) => one.open(`${base}/${page}`)))
    expect(own.text).toMatch(/Which account\?.*The SDK needs Node 22|The SDK needs Node 22.*Which account\?/)
    expect(own.html).toContain(`${base}/messages/`)
    expect(others.text).not.toMatch(/Hidden for your role|@bob/)
    expect(others.text).not.toMatch(/SDK|Which account/)
    expect(others.html).not.toContain(`${base}/messages/`)
  }
  expect((await owner.open(`${base}/attention`)).text).toContain('@bob needs authentication from @alice for a task')
  expect((await owner.open(`${base}/tasks?state=auth`)).text).toContain('Log in')
  expect((await owner.open(`${base}/tasks?state=input`)).text).not.toContain('Log in')
  const home = await owner.open(`${base}/home`)
  expect(home.text).toContain('A task from @alice for @bob failed')
  expect(home.text).not.toContain('SDK')
})

test('Attention says which agent has been silent about a task, and for how long', async () => {
  await ask('Work', { state: 'working' })
  grid.clock.now += hour
  await failTasks(grid.store)
  grid.clock.now += hour

  const { text } = await (await signedInWithRole(grid, 'owner')).open(`${base}/attention`)
  expect(text).toContain('@bob has been silent for 2 h about a task from @alice it is working')
})

test("the second page of tasks continues where the first ends, and reading others' tasks is recorded", async () => {
  for (let n = 1; n <= 51; n++) {
    await askFor(storeOf(grid, grid.alice), `Task ${n}.`)
    grid.clock.now += 1
  }
  await followLog(grid.store)
  const readings = () =>
    rows(grid, `SELECT * FROM activity WHERE account_id = ? AND tool LIKE '%read%'`, [grid.acme.id])
  await (await signedInWithRole(grid, 'viewer')).open(`${base}/tasks`)
  expect(await readings()).toEqual([])

  const owner = await signedInWithRole(grid, 'owner')
  const [first, second] = [await owner.open(`${base}/tasks`), await owner.open(`${base}/tasks?page=2`)]
  expect([first.text.includes('Task 1.'), first.text.includes('Task 51.')]).toEqual([false, true])
  expect([second.text.includes('Task 1.'), second.text.includes('Task 51.')]).toEqual([true, false])
  expect(await readings()).not.toEqual([])
})
