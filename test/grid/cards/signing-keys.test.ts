import { expect, test } from 'vitest'
import { keepSigningKeys, readSigningKeys } from '../../../src/grid/cards.ts'
import { createKeyRing, newKeyRing } from '../../../src/lib/key-ring.ts'
import { day, minute } from '../../../src/lib/time.ts'
import type { Store } from '../../../src/store/store.ts'
import { rows } from '../../support/database.ts'
import { onEachDatabase } from '../../support/databases.ts'
import type { TestGrid } from '../../support/grid.ts'

const privateKeys = (grid: TestGrid) =>
  rows(grid, 'SELECT id FROM signing_keys WHERE encrypted_token IS NOT NULL ORDER BY created_at')
const ids = async (grid: TestGrid) => (await grid.store.global.signingKeys.list()).map(({ id }) => id)

onEachDatabase((open) => {
  test('only one of several processes creates the first signing key', async () => {
    const grid = await open({ env: { GRID_KEYS: newKeyRing() } })

    const read = await Promise.all(Array.from({ length: 5 }, () => readSigningKeys(grid.store)))

    expect(new Set(read.map(({ current }) => current!.id)).size).toBe(1)
    expect(await ids(grid)).toEqual([read[0].current!.id])
    await grid.close()
  })

  test('a signing key is replaced at its maximum age, its private half is removed soon after, and its public half a year later', async () => {
    const grid = await open({ env: { GRID_KEYS: newKeyRing() } })
    const { current: first } = await readSigningKeys(grid.store)

    grid.clock.now += 90 * day - 1
    await keepSigningKeys(grid.store)
    expect(await ids(grid)).toEqual([first!.id])

    grid.clock.now += 1
    await Promise.all([keepSigningKeys(grid.store), keepSigningKeys(grid.store)])
    const [second, ...older] = await ids(grid)
    expect(older).toEqual([first!.id])
    expect((await readSigningKeys(grid.store)).current!.id).toBe(first!.id)

    grid.clock.now += 10 * minute
    await keepSigningKeys(grid.store)
    expect((await readSigningKeys(grid.store)).current!.id).toBe(second)
    expect(await privateKeys(grid)).toHaveLength(2)

    grid.clock.now += 10 * minute
    await keepSigningKeys(grid.store)
    expect(await privateKeys(grid)).toEqual([{ id: second }])
    expect((await readSigningKeys(grid.store)).published.map(({ kid }) => kid)).toEqual([second, first!.id])

    grid.clock.now += 365 * day
    await keepSigningKeys(grid.store)
    expect(await ids(grid)).toEqual([expect.any(String), second])
    await grid.close()
  })

  test('a signing key whose encryption key was lost is still published, and a new key signs', async () => {
    const grid = await open({ env: { GRID_KEYS: newKeyRing() } })
    const { current: lost } = await readSigningKeys(grid.store)
    const store: Store = { ...grid.store, keyRing: createKeyRing(newKeyRing()) }

    const { current, published } = await readSigningKeys(store)

    expect(current!.id).not.toBe(lost!.id)
    expect(published.map(({ kid }) => kid)).toEqual([current!.id, lost!.id])
    await grid.close()
  })
})
