import { expect, test } from 'vitest'
import { Repeated } from '../../src/lib/repeated.ts'
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
  const repeated = new Repeated(work, 1)
  repeated.schedule()
  repeated.schedule()
  await waitFor('run 1', () => state.runs === 1)
  repeated.schedule()
  const asked = repeated.run()
  state.end()
  await waitFor('run 2', () => state.runs === 2)
  state.end()
  await asked
  await waitFor('run 3', () => state.runs === 3)
  state.end()

  expect(state.most).toBe(1)
  repeated.close()
})

test('it runs again as long as the work says so, and not once it is closed', async () => {
  let runs = 0
  const repeated = new Repeated(() => Promise.resolve(++runs < 3), 1)
  repeated.schedule()
  await waitFor('run 3', () => runs === 3)

  await repeated.run()
  expect(runs).toBe(4)
  repeated.close()
  repeated.schedule()
  await repeated.run()
  expect(runs).toBe(5)
})
