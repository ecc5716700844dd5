import type { Config } from '../../config.ts'
import { day, isoTime, minute } from '../../lib/time.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import { askReady, isOfGrid, ownServer } from '../health.ts'
import { fullVersion } from '../../lib/version.ts'
import type { LookedAt } from './database.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

/** Checks whether a server of this build is ready at the configured address. `holder` holds the local file. */
export async function checkServer(config: Config, holder: LookedAt['server']): Promise<Finding> {
  if (holder && holder.build !== fullVersion) {
    return warning('server', `This program is ${fullVersion}, and the server is ${holder.build}.`, 'Restart the grid.')
  }
  const { port } = config
  const answer = await askReady(ownServer(config))
  if (!answer) {
    if (!holder) return ok('server', 'The grid is stopped.')
    return warning(
      'server',
      `A server holds the database, but nothing answers on port ${port}.`,
      'Read its log, and restart the grid.',
    )
  }
  if (!isOfGrid(answer)) {
    return broken(
      'server',
      `The program on port ${port} is not an agent-grid.`,
      'Stop that program, or set PORT to another port, and start the grid.',
    )
  }
  if (answer.status === 200) return ok('server', `The grid is ready on port ${port}.`)
  return broken(
    'server',
    `The grid on port ${port} is not ready: ${answer.text}`,
    'See docs/operating/reference.md, "Troubleshooting", and the log.',
  )
}

/** These limits equal those in `worker/clock.ts`. */
const maxAheadMs = 30 * day
const maxBehindMs = 5 * minute

export function checkClock({ storedAt, now }: Pick<DatabaseHealth, 'storedAt' | 'now'>): Finding {
  if (storedAt === null) return ok('clock', `The clock says ${isoTime(now)}.`)
  const found = `The clock says ${isoTime(now)}, and the last stored time is ${isoTime(storedAt)}.`
  if (now - storedAt > maxAheadMs) {
    const action = 'Correct the clock; if it is right, run "agent-grid doctor --repair confirm-clock".'
    return broken('clock', `${found} Nothing old is removed.`, action)
  }
  if (storedAt - now > maxBehindMs) {
    return warning('clock', `${found} The clock is behind.`, 'Correct the clock, for example with NTP.')
  }
  return ok('clock', `The clock says ${isoTime(now)}, which fits the last stored time.`)
}
