import { closestMatch } from 'leven'
import { type Config, ConfigError, describeMixedAddresses, describeRemoved } from '../../config.ts'
import { checkEmailServer } from '../../email.ts'
import { second } from '../../lib/time.ts'
import { broken, type Finding, ok, warning } from './finding.ts'
import { describeSettings, readConfig } from '../settings.ts'

const list = '"agent-grid help settings" lists all settings.'

/** The settings (undefined if they are invalid), and findings about misspelt and removed variables. */
export function checkSettings(env: Record<string, string | undefined>): { config?: Config; findings: Finding[] } {
  const unknown = findUnknownSettings(env).map(({ found, action }) => warning('settings', found, action))
  try {
    const config = readConfig(env)
    return { config, findings: unknown.length > 0 ? unknown : [ok('settings', 'The settings are valid.')] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { findings: [broken('settings', error.message.replaceAll('\n', ' '), list), ...unknown] }
  }
}

/** The problem and the remedy for each variable that is a former or misspelt setting. */
export function findUnknownSettings(
  env: Record<string, string | undefined>,
): { found: string; action: string }[] {
  const settings = describeSettings().map(({ name }) => name)
  return Object.keys(env).filter((name) => !settings.includes(name)).flatMap((name) => {
    const removed = describeRemoved(name)
    if (removed) return [{ found: removed, action: `Remove ${name} from the environment.` }]
    // At most a quarter of the letters may differ: HOME does not mean HOST.
    const meant = closestMatch(name.toUpperCase(), settings, { maxDistance: Math.floor(name.length / 4) })
    return meant === undefined ? [] : [{ found: `${name} is not a setting. Did you mean ${meant}?`, action: list }]
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
      'A proxy adds the encryption, but no proxy is trusted, so all clients share the limits of its address.',
      'Set TRUSTED_PROXIES to the address of the proxy.',
    )
  }
  return ok('addresses', appUrl === baseUrl ? `The grid is at ${baseUrl}.` : `The grid is at ${baseUrl} and ${appUrl}.`)
}

export async function checkEmail(config: Config): Promise<Finding> {
  if (config.smtpUrl === undefined) {
    const found = 'No email server is set, so links for people are only in the log.'
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
      'Check that the server runs, and that SMTP_URL has its address, user and password.',
    )
  }
}
