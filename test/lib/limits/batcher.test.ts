import { expect, test } from 'vitest'
import { Batcher } from '../../../src/lib/limits/batcher.ts'
import { turn } from '../../support/wait-for.ts'

test('a batcher runs the first item of a key immediately, and batches those that follow soon after', async () => {
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

test('the batches of a key run one after the other, and an item fails only with its own batch', async () => {
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

test('flush immediately runs the waiting items, and resolves when they have run', async () => {
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
