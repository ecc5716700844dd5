import { expect, test } from 'vitest'
import { storeOf, testGrid } from '../support/grid.ts'
import { sendMessage } from '../support/messaging.ts'

test('a search batch is limited by its texts, but includes at least one message', async () => {
  const grid = await testGrid()
  const alice = storeOf(grid, grid.alice)
  for (let n = 0; n < 30; n++) await sendMessage(alice, { to: 'bob', text: 'four' })
  const { pulses } = grid.store.global
  const next = (after: number, limit: number, chars: number) => pulses.nextTexts(after, 30, { limit, chars })

  expect(await next(0, 500, 10)).toBe(3)
  expect(await next(3, 500, 1)).toBe(4)
  expect(await next(0, 5, 1_000)).toBe(5)
  expect(await next(0, 500, 1_000)).toBe(30)
})
