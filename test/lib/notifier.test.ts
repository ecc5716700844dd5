import { expect, test } from 'vitest'
import { Notifier, Signal } from '../../src/lib/notifier.ts'
import { isSettled } from '../support/wait-for.ts'

test('a signal that was raised without a listener resolves the next one, once', async () => {
  const signal = new Signal()
  signal.raise()
  signal.raise()

  await signal.raised()
  expect(await isSettled(signal.raised())).toBe(false)
})

test('a notification raises every signal of its agent and no other', async () => {
  const notifier = new Notifier()
  const [one, two, other] = [new Signal(), new Signal(), new Signal()]
  notifier.subscribe('bob', one)
  notifier.subscribe('bob', two)
  notifier.subscribe('eve', other)
  notifier.notify(['bob', 'unknown'])

  await Promise.all([one.raised(), two.raised()])
  expect(await isSettled(other.raised())).toBe(false)
})

test('each notification is one more message to read, until a read tells how many remain', () => {
  const notifier = new Notifier()
  notifier.notify(['bob', 'eve'])
  notifier.notify(['bob'])
  const before = ['bob', 'eve', 'alice'].map((agent) => notifier.expected(agent))
  notifier.expect('bob', 0)
  notifier.expect('alice', 7)
  notifier.subscribe('bob', new Signal())
  notifier.notifyAll()

  expect(before).toEqual([2, 1, 0])
  expect(['bob', 'eve', 'alice'].map((agent) => notifier.expected(agent))).toEqual([0, 1, 7])
})
