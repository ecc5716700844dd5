import { expect, test } from 'vitest'
import { Batcher } from '../../../src/lib/limits/batcher.ts'
import { turn } from '../../support/wait-for.ts'

test('the first item runs at once, and those that come soon after it run together, for each key', async () => {
  const batcher = new Batcher<string>(5)
  const batches: string[] = []
  const add = (key: string, item: string) =>
    batcher.add(key, item, (items) => {
      batches.push(items.join())
      return Promise.resolve()
    })

  const all = ['a', 'b', 'c'].map((item) => add('k', item))
  const other = add('other', 'x')
  expect(batches).toEqual(['a', 'x'])
  await Promise.all([...all, other])

  expect(batches).toEqual(['a', 'x', 'b,c'])
  await Promise.all(['d', 'e'].map((item) => add('k', item)))
  expect(batches.slice(3)).toEqual(['d,e'])
})

test('batches of one key do not overlap, and an item fails with its own batch', async () => {
  const batcher = new Batcher<string>(0)
  let running = 0
  const add = (item: string) =>
    batcher.add('k', item, async (items) => {
      expect(++running).toBe(1)
      await turn()
      running--
      if (items.includes('bad')) throw new Error('refused')
    })

  const ended = await Promise.allSettled([add('good'), add('bad'), add('with bad')])
  const after = await add('after').then(() => 'done')

  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect(after).toBe('done')
})

test('a flush runs what waits without the wait, and resolves when it has run', async () => {
  const batcher = new Batcher<string>(60_000)
  const done: string[] = []
  const add = (item: string) =>
    batcher.add('k', item, async (items) => {
      await turn()
      done.push(items.join())
    })
  const all = ['a', 'b', 'c'].map(add)

  await batcher.flush('k')

  expect(done).toEqual(['a', 'b,c'])
  await Promise.all(all)
  await batcher.flush('other')
})
