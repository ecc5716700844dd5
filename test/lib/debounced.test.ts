import { expect, test } from 'vitest'
import { Debounced } from '../../src/lib/debounced.ts'
import { waitFor } from '../support/wait-for.ts'

/** Work that counts its runs and ends when told. */
function slowWork() {
  const state = { runs: 0, most: 0, running: 0, end: () => {} }
  const work = async () => {
    state.runs++
    state.most = Math.max(state.most, ++state.running)
    await new Promise<void>((resolve) => state.end = resolve)
    state.running--
    return false
  }
  return { state, work }
}

test('runs do not overlap, and what is asked during one leads to another', async () => {
  const { state, work } = slowWork()
  const debounced = new Debounced(work, 1)
  debounced.schedule()
  debounced.schedule()
  await waitFor('run 1', () => state.runs === 1)
  debounced.schedule()
  const asked = debounced.run()
  state.end()
  await waitFor('run 2', () => state.runs === 2)
  state.end()
  await asked
  await waitFor('run 3', () => state.runs === 3)
  state.end()

  expect(state.most).toBe(1)
  debounced.close()
})

test('it runs again as long as the work says so, and not once it is closed', async () => {
  let runs = 0
  const debounced = new Debounced(() => Promise.resolve(++runs < 3), 1)
  debounced.schedule()
  await waitFor('run 3', () => runs === 3)

  await debounced.run()
  expect(runs).toBe(4)
  debounced.close()
  debounced.schedule()
  await debounced.run()
  expect(runs).toBe(5)
})
