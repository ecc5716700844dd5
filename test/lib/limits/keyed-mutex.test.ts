import { expect, test } from 'vitest'
import { KeyedMutex } from '../../../src/lib/limits/keyed-mutex.ts'
import { turn } from '../../support/wait-for.ts'

test('the tasks of a key run one after the other, even after a failure, and independently of other keys', async () => {
  const mutex = new KeyedMutex()
  const log: string[] = []
  const run = (key: string, name: string) =>
    mutex.run(key, async () => {
      log.push(`${name} begins`)
      await turn()
      log.push(`${name} ends`)
      if (name === 'a') throw new Error('failed')
    })

  const ended = await Promise.allSettled([run('k', 'a'), run('k', 'b'), run('other', 'c')])

  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(log.slice(0, 3)).toEqual(['a begins', 'c begins', 'a ends'])
  expect(log.filter((line) => !line.startsWith('c'))).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})
