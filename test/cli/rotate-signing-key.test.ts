import { expect, test } from 'vitest'
import { rotateSigningKeyCommand } from '../../src/cli/keys.ts'
import { readSigningKeys } from '../../src/grid/cards.ts'
import { testGrid } from '../support/grid.ts'

test('the command says when the new key signs, and whether old signatures verify', async () => {
  const grid = await testGrid()
  const { current: first } = await readSigningKeys(grid.store)

  grid.clock.now += 1_000
  const second = await rotateSigningKeyCommand.run(grid.store, {})
  expect(second).toEqual({ key: expect.any(String), signs_from: '2026-11-21T09:10:01.000Z', removed_old: false })
  expect(rotateSigningKeyCommand.print(second)).toContain('What older keys signed still verifies.')
  expect((await readSigningKeys(grid.store)).current!.id).toBe(first!.id)

  const third = await rotateSigningKeyCommand.run(grid.store, { 'remove-old': 'yes' })
  expect(third).toMatchObject({ signs_from: '2026-11-21T09:00:01.001Z', removed_old: true })
  expect(rotateSigningKeyCommand.print(third)).toContain('no longer verifies')
  expect((await readSigningKeys(grid.store)).published.map(({ kid }) => kid)).toEqual([third.key])
})
