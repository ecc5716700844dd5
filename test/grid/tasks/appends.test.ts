/** Artifacts that come in chunks: what is written, and what it costs. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { askFor, eventsOf, inShort, storeOf } from '../../support/tasks.ts'

let grid: TestGrid
let client: AccountStore
let bob: AccountStore
let written: string[]
beforeEach(async () => {
  written = []
  grid = await testGrid()
  client = storeOf(grid, grid.alice)
  const account = storeOf(grid, grid.bob)
  bob = {
    ...account,
    write(statements) {
      written.push(JSON.stringify(statements.map(({ args }) => args)))
      return account.write(statements)
    },
  }
})
afterEach(() => grid.close())

test('an artifact comes in chunks, before the state that is given with the last', async () => {
  const { id } = await askFor(client, 'a list')
  const artifact = { id: 'list', name: 'List' }
  await updateTask(bob, { taskId: id, text: 'one, ', artifact })
  await updateTask(bob, { taskId: id, text: 'two, ', artifact: { id: 'list', append: true } })
  await updateTask(bob, { taskId: id, text: 'other', artifact: { id: 'other', append: true } })
  await updateTask(bob, {
    ...{ taskId: id, text: 'three', artifact: { id: 'list', append: true, lastChunk: true }, state: 'completed' },
  })

  const events = await eventsOf(client, id)
  expect(inShort(events)).toEqual(['submitted', 'one, ', 'two, ', 'other', 'three', 'completed'])
  expect(events.map((event) => 'append' in event ? [event.append, event.lastChunk] : [])).toEqual(
    // There was nothing to append the other one to.
    [[], [false, false], [true, false], [false, false], [true, true], []],
  )
  expect((await getTask(client, id)).artifacts).toEqual([
    { artifactId: 'list', name: 'List', parts: [{ text: 'one, ' }, { text: 'two, ' }, { text: 'three' }] },
    { artifactId: 'other', parts: [{ text: 'other' }] },
  ])
})

test('what is appended at once is one event, in its order and before what follows', async () => {
  const { id } = await askFor(client, 'a story')
  await updateTask(bob, { taskId: id, text: 'Once', artifact: { id: 'story' } })
  const words = Array.from({ length: 50 }, (_, n) => ` ${n}`)

  await Promise.all(
    words.map((text) => updateTask(bob, { taskId: id, text, artifact: { id: 'story', append: true } })),
  )
  await updateTask(bob, { taskId: id, state: 'completed' })

  const events = await eventsOf(client, id)
  expect(inShort(events).join('')).toBe(`submittedOnce${words.join('')}completed`)
  // The first is stored at once, and the others while it is.
  expect(events.length).toBeLessThanOrEqual(6)
})

test('an artifact of 10,000 chunks: what is written is at most three times its content', async () => {
  const { id } = await askFor(client, 'a long story')
  const chunks = Array.from({ length: 10_000 }, (_, n) => `word ${n} `)
  written = []

  for (let n = 0; n < chunks.length; n += 500) {
    await Promise.all(
      chunks.slice(n, n + 500).map((text) =>
        updateTask(bob, { taskId: id, text, artifact: { id: 'story', append: true } })
      ),
    )
  }
  await updateTask(bob, { taskId: id, state: 'completed' })

  const { artifacts: [{ parts }], status } = await getTask(client, id)
  const content = chunks.join('')
  expect(parts.map((part) => 'text' in part ? part.text : '').join('')).toBe(content)
  expect(status.state).toBe('completed')
  const bytes = written.join('').length
  console.log(`10,000 chunks of ${content.length} characters: ${bytes} were bound, in ${written.length} units`)
  expect(bytes).toBeLessThanOrEqual(3 * content.length)
  // At most ten events a second.
  expect(written.length).toBeLessThan(200)
})
