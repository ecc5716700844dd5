/** Identifiers that were replaced by standard terms, so that they do not come back. docs/architecture.md, "Words". */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Each with the term that replaced it. */
const retired: Record<string, string> = {
  againOnConflict: 'retryOnConflict',
  Arrivals: 'new deliveries',
  arrivalsWatch: 'new deliveries',
  askTogether: 'a query batch',
  awaitMessages: 'waitForMessages',
  batchId: 'leaseId',
  batch_id: 'lease_id',
  Bell: 'Signal',
  checkRecipient: 'resolve',
  Crossings: 'cross-account queries',
  crossings: 'cross-account queries',
  Departure: 'CallerConnection',
  Doer: 'an activity actor',
  Gate: 'Semaphore',
  giveBack: 'release',
  giveBackOf: 'release',
  giveBackUnknown: 'release',
  givenBack: 'released leases',
  given_back: 'lease_releases',
  'given back': 'released',
  handedOver: 'ack',
  'handed out': 'leased',
  handed_out: 'leased',
  handOut: 'lease',
  handOuts: 'leases',
  HandOut: 'lease',
  'hand-out': 'lease',
  'hand-outs': 'leases',
  Letter: 'EmailContent',
  listenForMail: 'watchInbox',
  mailbox: 'inbox, or email address',
  Mailbox: 'inbox, or email address',
  mailboxes: 'inboxes',
  mails: 'emails',
  'mine(': 'withAccount',
  openReads: 'leases',
  OpenReads: 'leases',
  open_reads: 'leases',
  'own(': 'inAccount',
  putBack: 'release',
  Questions: 'a query batcher',
  RequestTurns: 'RequestScheduler',
  Seats: 'ConcurrencyLimit',
  standing: 'authorize',
  Standing: 'authorize',
  toSelf: 'isSelf',
  wakeCalls: 'wake signals',
  wake_calls: 'wake_signals',
  Wakes: 'Notifier',
}

/** This file has to name the words. */
const exempt = /^test\/words\.test\.ts/

const files = ['src', 'db/schema.ts', 'scripts', 'test', 'docs', 'README.md'].flatMap(filesOf)
  .filter((path) => !exempt.test(path))
  .map((path) => ({ path, lines: readFileSync(path, 'utf8').split('\n') }))

test.each(Object.entries(retired))('%s is retired: the term is %s', (word) => {
  const pattern = new RegExp(`(?<![\\w.-])${word.replace('(', '\\(')}(?![\\w-])`)
  const found = files.flatMap(({ path, lines }) =>
    lines.flatMap((line, i) => pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])
  )

  expect(found).toEqual([])
})

function filesOf(path: string): string[] {
  if (/\.\w+$/.test(path)) return /\.(tsx?|js|md)$/.test(path) ? [path] : []
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => filesOf(`${path}/${entry.name}`))
}
