import { expect, test } from 'vitest'
import { Semaphore } from '../../../src/lib/limits/semaphore.ts'

test('a semaphore alternates between waiting tasks with and without priority', async () => {
  const semaphore = new Semaphore({ maxConcurrent: 1, maxQueued: 8 })
  const started: string[] = []
  const run = (name: string, hasPriority: boolean) =>
    semaphore.run(() => Promise.resolve(started.push(name)), () => new Error('full'), hasPriority)

  const ordinary = ['a', 'b', 'c', 'd', 'e'].map((name) => run(name, false))
  const prior = ['1', '2'].map((name) => run(name, true))
  await Promise.all([...ordinary, ...prior])

  expect(started.join('')).toBe('a1b2cde')
})
