import { expect, test } from 'vitest'
import { Seats } from '../../src/lib/concurrency-limit.ts'

test('a key has its seats and no more, and gets one back once', () => {
  const seats = new Seats({ perKey: 2, total: 9 })
  const leave = seats.take('a')!
  seats.take('a')
  expect([seats.isFree('a'), seats.take('a'), seats.isFree('b')]).toEqual([false, undefined, true])
  leave()
  leave()

  expect([seats.isFree('a'), seats.count]).toEqual([true, 1])
})

test('all keys together have no more than the total', () => {
  const seats = new Seats({ perKey: 2, total: 2 })
  seats.take('a')
  seats.take('b')

  expect([seats.take('c'), seats.takeOldest('c', () => {})]).toEqual([undefined, undefined])
})

test('the holder of the oldest seat is told when it is taken', () => {
  const seats = new Seats({ perKey: 2, total: 2 })
  const lost: number[] = []
  for (const n of [1, 2, 3]) seats.takeOldest('a', () => lost.push(n))

  expect([lost, seats.count]).toEqual([[1], 2])
})
