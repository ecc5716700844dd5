import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrations } from '../../db/migrations.ts'
import { day } from '../../src/lib/time.ts'
import { removePreviousFiles } from '../../src/worker/clock.ts'
import { emptyGrid } from '../support/grid.ts'
import { addStep } from '../support/later-step.ts'
import { temporaryDatabase } from '../support/process.ts'

test('the copy from before a migration is kept until a server has run for a day', async () => {
  const database = temporaryDatabase()
  const path = join(database.folder, 'grid.db')
  await (await emptyGrid({ url: database.url })).close()
  const copy = `${path}.schema-${migrations.length}`
  addStep('CREATE TABLE later (id text)')
  const grid = await emptyGrid({ url: database.url })
  const startedAt = grid.clock.now

  grid.clock.now += day - 1
  removePreviousFiles(grid.store, startedAt)
  expect(existsSync(copy)).toBe(true)

  grid.clock.now += 1
  removePreviousFiles(grid.store, startedAt)
  expect(existsSync(copy)).toBe(false)
  expect(grid.logs.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ message: 'The copy from before the migration was removed', file: copy }),
  )
  await grid.store.close()
  database.remove()
})
