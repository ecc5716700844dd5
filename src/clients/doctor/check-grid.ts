/** Whether the grid of a connection answers, and takes its key. */
import { minute } from '../../lib/time.ts'
import { version } from '../../lib/version.ts'
import { GridCallError, GridClient, type Me } from '../grid-client.ts'
import { broken, type ClientFinding, ok, skipped, warning } from './finding.ts'

const timeoutMs = 5_000
/** Sessions and leases do not depend on the clock of a client; what people read of times does. */
const clockMs = 2 * minute

/** Call the grid once. `now` is the clock of this machine, in ms since 1970. */
export async function checkGrid(
  { url, key, alias }: { url: string; key: string; alias?: string },
  now: () => number,
): Promise<ClientFinding[]> {
  try {
    return judge(await new GridClient({ url, key, timeoutMs }).me(), alias, now())
  } catch (error) {
    if (!(error instanceof GridCallError)) throw error
    return refused(url, error)
  }
}

function judge(me: Me, alias: string | undefined, now: number): ClientFinding[] {
  return [
    ok('grid', `${me.grid.url} answers.`),
    alias === undefined || me.agent === alias
      ? ok('key', `The key "${me.key.name ?? ''}" (…${me.key.last4}) is of ${me.agent}.`)
      : warning('key', `The key is of ${me.agent}, not of ${alias}.`, 'Connect again: "agent-grid connect".'),
    isSameRelease(me.grid.version) ? ok('version', `This program is ${version}, and so is the grid.`) : warning(
      'version',
      `This program is ${version}, and the grid is ${me.grid.version}.`,
      'Run "agent-grid connect" with the package of the grid, so that both are the same.',
    ),
    judgeClock(Date.parse(me.clock) - now),
  ]
}

function judgeClock(aheadMs: number): ClientFinding {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000)
  if (Math.abs(aheadMs) < clockMs) return ok('clock', 'The clock of this machine agrees with that of the grid.')
  return warning(
    'clock',
    `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of the grid.`,
    'Set the clock of this machine by the network (NTP).',
  )
}

function refused(url: string, error: GridCallError): ClientFinding[] {
  const { status, code, message } = error
  if (status === 0 || code === 'not_a_grid') {
    return [
      broken(
        'grid',
        message,
        `Check that the grid runs, and that this machine reaches it: "agent-grid health --url ${url}".`,
      ),
      skipped('key', 'Only the grid knows whether the key works.'),
    ]
  }
  if (status === 401 || code === 'wrong_credential') {
    return [
      ok('grid', `${url} answers.`),
      broken(
        'key',
        `The grid does not accept the key: ${message}`,
        'It was revoked. Connect again: "agent-grid connect".',
      ),
    ]
  }
  if (status === 404) {
    return [
      ok('grid', `${url} answers.`),
      warning(
        'version',
        'The grid is older than this program.',
        'Upgrade the grid, or use the program that it hands out.',
      ),
    ]
  }
  return [warning('grid', `${url} answers, but not now: ${message}`, 'Try again in a minute.')]
}

function isSameRelease(other: string): boolean {
  const release = (text: string) => text.split('.').slice(0, 2).join('.')
  return release(other) === release(version)
}
