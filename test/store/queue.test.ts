/** The write queue: which units share a commit, and how long they wait. */
import { expect, test } from 'vitest'
import { turn } from '../support/wait-for.ts'
import { gathered, hold, settle, testQueue, unit } from '../support/write-queue.ts'

test('concurrent units are committed together, in order, and each gets its own rows', async () => {
  const { queue, commits } = testQueue()

  const answers = await Promise.all([
    queue.write('a', [unit('a1'), unit('a2')]),
    queue.write('b', [unit('b1')]),
    queue.write('a', [unit('a3')]),
  ])

  expect(commits).toEqual([['a1', 'a2', 'b1', 'a3']])
  expect(answers).toEqual([[[{ ran: 'a1' }], [{ ran: 'a2' }]], [[{ ran: 'b1' }]], [[{ ran: 'a3' }]]])
})

test('no write resolves before its commit returns, and units that arrive during it share the next commit', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  let settled = 0
  const count = () => settled++

  const first = queue.write('a', [unit('first')]).then(count)
  await gathered()
  const later = [queue.write('a', [unit('second')]).then(count), queue.write('b', [unit('third')]).then(count)]
  await gathered()
  expect(commits).toEqual([['first']])
  expect(settled).toBe(0)
  held.open()
  await Promise.all([first, ...later])

  expect(commits).toEqual([['first'], ['second', 'third']])
})

test('at most 1,000 units wait, and one more of the same account is refused as unavailable', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  const running = queue.write('a', [unit('running')])
  await gathered()

  const waiting = Array.from({ length: 1_000 }, (_, n) => queue.write('a', [unit(`${n}`)]))
  await expect(queue.write('a', [unit('over')])).rejects.toMatchObject({
    code: 'unavailable',
    details: { retryAfterSeconds: 1 },
  })
  held.open()

  expect(await settle([running, ...waiting])).toEqual(Array(1_001).fill('done'))
  expect(commits.slice(1).flat()).toEqual(Array.from({ length: 1_000 }, (_, n) => `${n}`))
  expect(Math.max(...commits.map((commit) => commit.length))).toBe(128)
})

test('when 1,000 units wait, new units of accounts with few waiting units replace some units of an account with many', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  const running = queue.write('x', [unit('x')])
  await gathered()

  const busy = settle(Array.from({ length: 1_000 }, (_, n) => queue.write('busy', [unit(`busy ${n}`)])))
  const calm = settle(['calm 1', 'calm 2'].map((name) => queue.write(name, [unit(name)])))
  held.open()
  await running

  expect(await calm).toEqual(['done', 'done'])
  expect(await busy).toEqual([...Array(998).fill('done'), 'unavailable', 'unavailable'])
  expect(commits[1].slice(0, 3)).toEqual(['busy 0', 'calm 1', 'calm 2'])
})

test('a group contains at most 500 rows of an account while other accounts wait', async () => {
  const held = hold()
  const { queue, commits } = testQueue({ batch: () => held.opened })
  const running = queue.write('x', [unit('x')])
  await gathered()

  const posts = Array.from({ length: 7 }, (_, n) => queue.write('busy', [{ ...unit(`post ${n}`), rows: 300 }]))
  const calm = queue.write('calm', [unit('calm')])
  held.open()
  await Promise.all([running, ...posts, calm])

  expect(commits.slice(1)).toEqual([
    ['post 0', 'calm', 'post 1'],
    ['post 2', 'post 3', 'post 4', 'post 5', 'post 6'],
  ])
})

test.each([[2_000, 'done'], [2_001, 'unavailable']])(
  'a unit that has waited for %i ms is %s at its turn',
  async (ms, answer) => {
    const held = hold()
    const { queue, clock, commits } = testQueue({ batch: () => held.opened })
    const running = queue.write('a', [unit('running')])
    await gathered()

    const late = settle([queue.write('a', [unit('late')])])
    clock.now += ms
    const fresh = queue.write('b', [unit('fresh')])
    held.open()

    expect(await late).toEqual([answer])
    expect(await settle([running, fresh])).toEqual(['done', 'done'])
    expect(commits.flat().includes('late')).toBe(answer === 'done')
  },
)

test('a unit that waits for a hanging commit is refused in time', async () => {
  const held = hold()
  const { queue, clock } = testQueue({ batch: () => held.opened })
  const running = queue.write('a', [unit('running')])
  await gathered()

  const late = settle([queue.write('a', [unit('late')])])
  clock.now += 2_001

  expect(await late).toEqual(['unavailable'])
  held.open()
  expect(await settle([running])).toEqual(['done'])
})

test('a group ends at about 2,000 rows, and a larger unit runs alone', async () => {
  const { queue, commits } = testQueue()

  await Promise.all([
    queue.write('a', [{ ...unit('a'), rows: 1_999 }]),
    queue.write('b', [{ ...unit('b'), rows: 1 }]),
    queue.write('c', [{ ...unit('c'), rows: 9_000 }]),
    queue.write('d', [unit('d')]),
  ])

  expect(commits).toEqual([['a', 'b'], ['c'], ['d']])
})

test('an ended queue accepts no further units, and reports no storage fault', async () => {
  const { queue, commits } = testQueue()

  const last = queue.write('a', [unit('last')])
  await queue.end()
  await last

  await expect(queue.write('a', [unit('late')])).rejects.toMatchObject({ code: 'unavailable' })
  expect(commits).toEqual([['last']])
})

test('other work runs between two groups, even if a commit does not yield to the event loop', async () => {
  const { queue, commits } = testQueue()
  const seen = new Set<number>()
  const large = { ...unit('large'), rows: 2_000 }
  let isStored = false
  const stored = Promise.all(Array.from({ length: 4 }, () => queue.write('a', [large]))).then(() => isStored = true)

  while (!isStored) {
    await turn()
    seen.add(commits.length)
  }
  await stored

  for (const count of [1, 2, 3]) expect(seen).toContain(count)
})
