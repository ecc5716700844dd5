/** Whether the grid of a connection answers, and takes its key. */
import { GridCallError, isCredentialGone } from '../../clients/grid-call.ts'
import { GridClient, type Me } from '../../clients/grid-client.ts'
import { minute, second } from '../../lib/time.ts'
import { version } from '../../lib/version.ts'
import { broken, type Finding, ok, skipped, warning } from '../doctor/finding.ts'

type GridFinding = Finding<'grid' | 'key' | 'version' | 'clock'>

const timeoutMs = 5 * second
/** Sessions and leases do not depend on the clock of a client; what people read of times does. */
const clockMs = 2 * minute

/** Call the grid once. `now` is the clock of this machine, in ms since 1970. */
export async function checkGrid(
  { url, key, alias }: { url: string; key: string; alias?: string },
  now: () => number,
): Promise<GridFinding[]> {
  try {
    return judge(await new GridClient({ url, key, timeoutMs }).me(), alias, now())
  } catch (error) {
    if (!(error instanceof GridCallError)) throw error
    return judgeError(url, error)
  }
}

function judge({ agent, key: { last4, name }, grid, clock }: Me, alias: string | undefined, now: number) {
  const isOurs = alias === undefined || agent === alias
  return [
    ok('grid', `${grid.url} answers.`),
    isOurs
      ? ok('key', `The key …${last4}${name ? ` ("${name}")` : ''} is of ${agent}.`)
      : warning('key', `The key is of ${agent}, not of ${alias}.`, 'Connect again: "agent-grid connect".'),
    isSameRelease(grid.version) ? ok('version', `This program is ${version}, and so is the grid.`) : warning(
      'version',
      `This program is ${version}, and the grid is ${grid.version}.`,
      'Run "agent-grid connect" with the package of the grid, so that both are the same.',
    ),
    judgeClock(Date.parse(clock) - now),
  ]
}

function judgeClock(aheadMs: number): GridFinding {
  if (Math.abs(aheadMs) < clockMs) return ok('clock', 'The clock of this machine agrees with the clock of the grid.')
  const difference = `${Math.round(Math.abs(aheadMs) / second)} s ${aheadMs > 0 ? 'behind' : 'ahead of'}`
  const action = 'Set the clock of this machine by the network (NTP).'
  return warning('clock', `The clock of this machine is ${difference} the clock of the grid.`, action)
}

function judgeError(url: string, error: GridCallError): GridFinding[] {
  const { status, code, message } = error
  if (isCredentialGone(error)) {
    const action = 'It was revoked. Connect again: "agent-grid connect".'
    return [ok('grid', `${url} answers.`), broken('key', `The grid does not accept the key: ${message}`, action)]
  }
  if (status === 0 || code === 'not_a_grid') {
    const action = `Check that the grid runs, and that this machine reaches it: "agent-grid health --url ${url}".`
    return [broken('grid', message, action), skipped('key', 'Only the grid knows whether the key works.')]
  }
  if (status === 404) {
    const action = 'Upgrade the grid, or use the program that it hands out.'
    return [ok('grid', `${url} answers.`), warning('version', 'The grid is older than this program.', action)]
  }
  return [warning('grid', `${url} answers, but not now: ${message}`, 'Try again in a minute.')]
}

function isSameRelease(other: string): boolean {
  const release = (text: string) => text.split('.').slice(0, 2).join('.')
  return release(other) === release(version)
}
