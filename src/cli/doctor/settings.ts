import { closestMatch } from 'leven'
import { type Config, ConfigError, describeMixedAddresses, describeSettings, readConfig } from '../../config.ts'
import { checkEmailServer } from '../../email.ts'
import { day, isoTime, minute, second } from '../../lib/time.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import { askReady, isOfGrid, ownServer } from '../health.ts'
import { build, type LookedAt } from './database.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

const list = '"agent-grid help settings" lists all settings.'

/** The settings, or undefined if they are invalid; and whether a variable looks like a misspelt one. */
export function checkSettings(env: Record<string, string | undefined>): { config?: Config; findings: Finding[] } {
  const nearMisses = findNearMisses(env)
  try {
    const config = readConfig(env)
    return { config, findings: nearMisses.length > 0 ? nearMisses : [ok('settings', 'The settings are valid.')] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { findings: [broken('settings', error.message.replaceAll('\n', ' '), list), ...nearMisses] }
  }
}

function findNearMisses(env: Record<string, string | undefined>): Finding[] {
  const settings = describeSettings().map(({ name }) => name)
  return Object.keys(env).filter((name) => !settings.includes(name)).flatMap((name) => {
    // A quarter of the letters may be wrong: HOME is not meant to be HOST.
    const meant = closestMatch(name.toUpperCase(), settings, { maxDistance: Math.floor(name.length / 4) })
    return meant === undefined ? [] : [warning('settings', `${name} is no setting. Is ${meant} meant?`, list)]
  })
}

/** Whether other machines can reach the grid. */
export function isPublic({ baseUrl }: Config): boolean {
  return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(baseUrl).hostname)
}

export function checkAddresses(config: Config): Finding {
  const { baseUrl, appUrl, trustedProxies } = config
  const mixed = describeMixedAddresses(config)
  if (mixed) return warning('addresses', mixed, 'Set BASE_URL and APP_URL to https addresses.')
  if (isPublic(config) && baseUrl.startsWith('http:')) {
    return warning(
      'addresses',
      `The grid is served at ${baseUrl}: keys and passwords cross the network unencrypted.`,
      'Put a TLS proxy in front, and set BASE_URL to its https address.',
    )
  }
  if (baseUrl.startsWith('https:') && trustedProxies.length === 0) {
    return warning(
      'addresses',
      'A proxy adds the encryption, but none is trusted: all clients share the limits of its address.',
      'Set TRUSTED_PROXIES to the address of the proxy.',
    )
  }
  return ok('addresses', appUrl === baseUrl ? `The grid is at ${baseUrl}.` : `The grid is at ${baseUrl} and ${appUrl}.`)
}

export async function checkEmail(config: Config): Promise<Finding> {
  if (config.smtpUrl === undefined) {
    const found = 'No email server is set: links for people are only in the log.'
    return isPublic(config) ? warning('email', found, 'Set SMTP_URL and MAIL_FROM.') : ok('email', found)
  }
  const { host } = new URL(config.smtpUrl)
  try {
    await checkEmailServer(config.smtpUrl, 2 * second)
    return ok('email', `The email server ${host} answers.`)
  } catch (error) {
    return broken(
      'email',
      `The email server ${host} cannot be used: ${(error as Error).message}`,
      'Check that it runs, and that SMTP_URL has its address, user and password.',
    )
  }
}

/** Whether a server is ready where the settings say, and is this program. `holder` has the local file. */
export async function checkServer(config: Config, holder: LookedAt['server']): Promise<Finding> {
  if (holder && holder.build !== build) {
    return warning('server', `This program is ${build}, and the server is ${holder.build}.`, 'Restart the grid.')
  }
  const { port } = config
  const answer = await askReady(ownServer(config))
  if (!answer) {
    if (!holder) return ok('server', 'The grid is stopped.')
    return warning(
      'server',
      `A server has the database, but none answers on port ${port}.`,
      'Run the doctor with the settings of the grid (PORT, HOST); if they are the same, restart the grid.',
    )
  }
  if (!isOfGrid(answer)) {
    return broken(
      'server',
      `What answers on port ${port} is no agent-grid.`,
      'Stop that program, or set PORT to another port, and start the grid.',
    )
  }
  if (answer.status === 200) return ok('server', `The grid is ready on port ${port}.`)
  if (answer.status === 421) {
    return broken(
      'server',
      `What answers on port ${port} does not know the host of BASE_URL.`,
      'Run the doctor with the settings of the grid.',
    )
  }
  return broken(
    'server',
    `The grid on port ${port} is not ready: ${answer.text}`,
    'See "Troubleshooting" in docs/operating.md, and the log.',
  )
}

/** As `worker/clock.ts` judges them. */
const maxAheadMs = 30 * day
const maxBehindMs = 5 * minute

export function checkClock({ storedAt, now }: Pick<DatabaseHealth, 'storedAt' | 'now'>): Finding {
  if (storedAt === null) return ok('clock', `The clock says ${isoTime(now)}.`)
  const found = `The clock says ${isoTime(now)}, and the last stored time is ${isoTime(storedAt)}.`
  if (now - storedAt > maxAheadMs) {
    const action = 'Correct the clock; if it is right, run "agent-grid confirm-clock".'
    return broken('clock', `${found} Nothing old is removed.`, action)
  }
  if (storedAt - now > maxBehindMs) {
    return warning('clock', `${found} The clock is behind.`, 'Correct the clock, for example with NTP.')
  }
  return ok('clock', `The clock says ${isoTime(now)}, which fits the last stored time.`)
}
