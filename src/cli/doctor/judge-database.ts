/** What the facts of the database mean. */
import { day, isoTime, minute } from '../../lib/time.ts'
import type { InsideFacts } from './inside.ts'
import { broken, counted, type Finding, ok, skipped, warning } from './report.ts'

type DatabaseFacts = InsideFacts['database']

const restore = 'Stop the grid, keep a copy of the files, and restore a backup.'
/** As `worker/clock.ts` judges them. */
const maxAheadMs = 30 * day
const maxBehindMs = 5 * minute
const longUnreadMs = 7 * day
const manyToPlace = 10_000

export function judgeDatabase(facts: DatabaseFacts, durability: 'full' | 'relaxed'): Finding[] {
  return [
    ...judgeWriteMode(facts, durability),
    judgeClock(facts),
    judgeIntegrity(facts),
    judgePlaces(facts),
    judgeUnread(facts),
    judgeLeases(facts),
    ok(
      'accounts',
      facts.accounts.length < 50 ? `${counted(facts.accounts.length, 'account')}.` : 'At least 50 accounts.',
    ),
  ]
}

/** Says nothing if all is well: the check of the disk has said what that means. */
function judgeWriteMode({ writeMode }: DatabaseFacts, durability: 'full' | 'relaxed'): Finding[] {
  if (writeMode === null) {
    return [skipped(
      'durability',
      'The database server decides what is on disk.',
      'A libsql-server must be set to durability_mode "strong".',
    )]
  }
  const { journal, synchronous } = writeMode
  const isInForce = journal === 'wal' && synchronous === (durability === 'full' ? 2 : 1)
  return isInForce ? [] : [broken(
    'durability',
    `The database runs with journal_mode ${journal} and synchronous ${synchronous}.`,
    'Restart the grid; it sets them again.',
  )]
}

function judgeClock({ storedAt, now }: DatabaseFacts): Finding {
  if (storedAt === null) return ok('clock', `The clock says ${isoTime(now)}.`)
  const found = `The clock says ${isoTime(now)}, and the time that was stored last is ${isoTime(storedAt)}.`
  if (now - storedAt > maxAheadMs) {
    return broken(
      'clock',
      `${found} Nothing old is removed.`,
      'Correct the clock; if it is right, run "agent-grid confirm-clock".',
    )
  }
  if (storedAt - now > maxBehindMs) {
    return warning('clock', `${found} The clock is behind.`, 'Correct the clock, for example with NTP.')
  }
  return ok('clock', `The clock says ${isoTime(now)}, which goes with the stored time.`)
}

function judgeIntegrity({ damage, danglingRows, writeMode }: DatabaseFacts): Finding {
  if (writeMode === null) return skipped('integrity', 'The database server looks after its own files.')
  if (damage === null) {
    return skipped(
      'integrity',
      'The database is too large to be read whole on the way.',
      'Stop the grid, and run "agent-grid doctor --full"; backups are checked whole when they are made.',
    )
  }
  if (damage.length > 0) return broken('integrity', `The database is damaged: ${damage[0]}`, restore)
  if (danglingRows! > 0) return broken('integrity', `References to missing rows: ${danglingRows}.`, restore)
  return ok('integrity', 'The database is whole, and no row points nowhere.')
}

function judgePlaces({ toPlace }: DatabaseFacts): Finding {
  if (toPlace > manyToPlace) {
    return warning(
      'queue',
      `${toPlace} messages are not placed in conversations yet.`,
      'A running grid places them; after an upgrade that takes minutes. If the number stays, see its log.',
    )
  }
  return ok('queue', 'All messages are placed in conversations, or will be in a moment.')
}

function judgeUnread({ oldestUnread, now }: DatabaseFacts): Finding {
  if (oldestUnread === null) return ok('unread', 'No message of an agent waits.')
  const { alias, createdAt } = oldestUnread
  const found = `The oldest unread message waits for @${alias} since ${isoTime(createdAt)}.`
  return now - createdAt > longUnreadMs
    ? warning('unread', found, `See whether @${alias} still runs; the page Attention lists all that do not read.`)
    : ok('unread', found)
}

function judgeLeases({ deadLeases: { count, since } }: DatabaseFacts): Finding {
  if (count === 0) return ok('leases', 'No lease is left of a dead process.')
  return warning(
    'leases',
    `${count} leases of dead processes were not released, the oldest of ${
      isoTime(since!)
    }: their messages are held back.`,
    'Restart the grid, which releases them; if they come back, see its log for "A task of the worker failed".',
  )
}
