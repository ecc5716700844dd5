import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Bell, Wakes } from '../../src/lib/notifier.ts'

test('a bell that rang while nobody listened is heard next, once', async () => {
  const bell = new Bell()
  bell.ring()
  bell.ring()

  await bell.rings()
  expect(await Promise.race([bell.rings().then(() => 'again'), sleep(20)])).toBeUndefined()
})

test('a wake-up rings every bell of its agent and no other', async () => {
  const wakes = new Wakes()
  const [one, two, other] = [new Bell(), new Bell(), new Bell()]
  wakes.listen('bob', one)
  wakes.listen('bob', two)
  wakes.listen('eve', other)
  wakes.wake(['bob', 'nobody'])

  await Promise.all([one.rings(), two.rings()])
  expect(await Promise.race([other.rings().then(() => 'rung'), sleep(20)])).toBeUndefined()
})

test('who listens is counted, and the first is told', () => {
  let firsts = 0
  const wakes = new Wakes(() => firsts++)
  const ignore = [wakes.listen('bob', new Bell()), wakes.listen('eve', new Bell())]
  expect([wakes.areHeard, firsts]).toEqual([true, 1])
  for (const stop of [...ignore, ...ignore]) stop()
  expect(wakes.areHeard).toBe(false)
  wakes.listen('bob', new Bell())

  expect(firsts).toBe(2)
})
