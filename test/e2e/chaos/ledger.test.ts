import { expect, test } from 'vitest'
import { faultsOf, type Histories, Ledger, noFaults, type Shown } from './ledger.ts'
import { planOf } from './plan.ts'

const demands = { everyHandOut: false, inOrder: ['bob'] }

test('a run in which everything holds has no faults', () => {
  const { ledger, histories } = run()

  expect(faultsOf(ledger, histories, demands)).toEqual(noFaults)
  expect(faultsOf(ledger, histories, { ...demands, everyHandOut: true })).toEqual(noFaults)
})

test.each<[keyof typeof noFaults, (ledger: Ledger, history: Shown[], handedOut: Shown[]) => unknown]>([
  ['lost', (_, history) => history.shift()],
  ['lost', (ledger) => ledger.sent[0].id = 'another'],
  ['storedTwice', (_, history) => history.push({ ...history[2], message_id: 'again' })],
  ['invented', (_, history) => history.push({ message_id: 'x', message: 'never sent' })],
  ['invented', (ledger) => ledger.sent[2].mailboxes = ['carol']],
  ['outOfOrder', (_, history) => history.reverse()],
  ['handedOutTwice', (_, __, handedOut) => handedOut.push(handedOut[2])],
  ['handedOutUnstored', (_, __, handedOut) => handedOut.push({ message_id: 'x', message: 'x' })],
  ['handedOutOutOfOrder', (_, __, handedOut) => handedOut.reverse()],
  ['neverHandedOut', (_, __, handedOut) => handedOut.pop()],
  ['surprises', (ledger) => ledger.surprises.push('500')],
])('%s is found', (fault, spoil) => {
  const { ledger, histories } = run()
  spoil(ledger, histories.get('bob')!, ledger.handedOut.get('bob')!)

  expect(faultsOf(ledger, histories, { ...demands, everyHandOut: true })[fault]).not.toEqual([])
})

test.each<Partial<Shown>>([{ redelivered: true }, { replayed: true }])(
  'what comes again flagged %o is no fault',
  (flag) => {
    const { ledger, histories } = run()
    ledger.handOut('bob', [{ ...histories.get('bob')![0], ...flag }])

    expect(faultsOf(ledger, histories, demands)).toEqual(noFaults)
  },
)

test('what died with a process is a fault only where that is demanded', () => {
  const { ledger, histories } = run()
  ledger.handedOut.get('bob')!.shift()

  expect(faultsOf(ledger, histories, demands)).toEqual(noFaults)
})

test('a seed decides the kills', () => {
  const options = { seconds: 30, instances: 3, killDatabase: true }

  expect(planOf({ ...options, seed: 1 })).toEqual(planOf({ ...options, seed: 1 }))
  expect(planOf({ ...options, seed: 1 })).not.toEqual(planOf({ ...options, seed: 2 }))
  expect(planOf({ ...options, seed: 1 }).filter(({ what }) => what === 'database')).toMatchObject([{ atMs: 15_000 }])
})

/** Alice sent three messages to Bob, who read them; the outcome of the last was never known. */
function run(): { ledger: Ledger; histories: Histories } {
  const ledger = new Ledger()
  const history = [0, 1, 2].map((n): Shown => {
    const sent = ledger.begin('alice', ['bob'], n)
    if (n < 2) sent.id = `id-${n}`
    return { message_id: `id-${n}`, message: sent.text }
  })
  ledger.handOut('bob', history)
  return { ledger, histories: new Map([['bob', history]]) }
}
