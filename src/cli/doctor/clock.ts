import { day, isoTime, minute } from '../../lib/time.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

/** As `worker/clock.ts` judges them. */
const maxAheadMs = 30 * day
const maxBehindMs = 5 * minute

/** Whether the clock goes with the time that was stored last. */
export function checkClock({ storedAt, now }: Pick<DatabaseHealth, 'storedAt' | 'now'>): Finding {
  if (storedAt === null) return ok('clock', `The clock says ${isoTime(now)}.`)
  const found = `The clock says ${isoTime(now)}, and the time that was stored last is ${isoTime(storedAt)}.`
  if (now - storedAt > maxAheadMs) {
    const action = 'Correct the clock; if it is right, run "agent-grid confirm-clock".'
    return broken('clock', `${found} Nothing old is removed.`, action)
  }
  if (storedAt - now > maxBehindMs) {
    return warning('clock', `${found} The clock is behind.`, 'Correct the clock, for example with NTP.')
  }
  return ok('clock', `The clock says ${isoTime(now)}, which goes with the stored time.`)
}
