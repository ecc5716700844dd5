import { expect, test } from 'vitest'
import { faultsOf, type Histories, Ledger, noFaults, type ReadMessage } from './ledger.ts'
import { planOf } from './plan.ts'

const expectations = { everyLease: false, inOrder: ['bob'] }

test('a run in which everything holds has no faults', () => {
  const { ledger, histories } = run()

  expect(faultsOf(ledger, histories, expectations)).toEqual(noFaults)
  expect(faultsOf(ledger, histories, { ...expectations, everyLease: true })).toEqual(noFaults)
})

test.each<[keyof typeof noFaults, (ledger: Ledger, history: ReadMessage[], leased: ReadMessage[]) => unknown]>([
  ['lost', (_, history) => history.shift()],
  ['lost', (ledger) => ledger.sent[0].id = 'another'],
  ['storedTwice', (_, history) => history.push({ ...history[2], message_id: 'again' })],
  ['invented', (_, history) => history.push({ message_id: 'x', message: 'never sent' })],
  ['invented', (ledger) => ledger.sent[2].inboxes = ['carol']],
  ['outOfOrder', (_, history) => history.reverse()],
  ['leasedTwice', (_, __, leased) => leased.push(leased[2])],
  ['leasedUnstored', (_, __, leased) => leased.push({ message_id: 'x', message: 'x' })],
  ['leasedOutOfOrder', (_, __, leased) => leased.reverse()],
  ['neverLeased', (_, __, leased) => leased.pop()],
  ['surprises', (ledger) => ledger.surprises.push('500')],
])('%s is found', (fault, spoil) => {
  const { ledger, histories } = run()
  spoil(ledger, histories.get('bob')!, ledger.leased.get('bob')!)

  expect(faultsOf(ledger, histories, { ...expectations, everyLease: true })[fault]).not.toEqual([])
})

test.each<Partial<ReadMessage>>([{ redelivered: true }, { replayed: true }])(
  'a message that comes again flagged %o is no fault',
  (flag) => {
    const { ledger, histories } = run()
    ledger.read('bob', [{ ...histories.get('bob')![0], ...flag }])

    expect(faultsOf(ledger, histories, expectations)).toEqual(noFaults)
  },
)

test('a message lost with its process is a fault only if every lease is expected', () => {
  const { ledger, histories } = run()
  ledger.leased.get('bob')!.shift()

  expect(faultsOf(ledger, histories, expectations)).toEqual(noFaults)
})

test('a seed decides the kills', () => {
  const options = { seconds: 30, instances: 3, killDatabase: true }

  expect(planOf({ ...options, seed: 1 })).toEqual(planOf({ ...options, seed: 1 }))
  expect(planOf({ ...options, seed: 1 })).not.toEqual(planOf({ ...options, seed: 2 }))
  expect(planOf({ ...options, seed: 1 }).filter(({ what }) => what === 'database')).toMatchObject([{ atMs: 15_000 }])
})

/** Alice sent three messages to Bob, who read them. The outcome of the last send is unknown. */
function run(): { ledger: Ledger; histories: Histories } {
  const ledger = new Ledger()
  const history = [0, 1, 2].map((n): ReadMessage => {
    const sent = ledger.begin('alice', ['bob'], n)
    if (n < 2) sent.id = `id-${n}`
    return { message_id: `id-${n}`, message: sent.text }
  })
  ledger.read('bob', history)
  return { ledger, histories: new Map([['bob', history]]) }
}
