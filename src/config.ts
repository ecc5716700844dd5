/** The configuration: reads and describes the settings, which `config/settings.ts` lists. */
import * as z from 'zod'
import { removedSettings, type Setting, settings, type SettingTable } from './config/settings.ts'
import { isOfManyTenants } from './lib/issuers.ts'

type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table]: Readonly<z.output<Table[Name]['schema']>>
}

type Values = ValuesOf<typeof settings>

/** The validated settings, and what follows from them. */
export interface Config extends Values {
  /** An origin without a trailing slash. */
  readonly baseUrl: string
  /** An origin without a trailing slash. */
  readonly appUrl: string
  /** A fifth of `unreadPerInbox`: other accounts cannot fill an inbox so far that its own account cannot write to it. */
  readonly externalUnreadPerInbox: number
}

/** What an optional feature adds to the configuration. */
export interface FeatureSettings {
  readonly table: SettingTable
  /** A sentence for each fault of settings that are valid one by one. */
  readonly faults?: (config: Config) => string[]
}

/** The values of the settings of a feature, which `readConfig` was given. */
export function settingsOf<Table extends SettingTable>(config: Config, _: Table): ValuesOf<Table> {
  return config as unknown as ValuesOf<Table>
}

/** The settings are invalid. The message names every invalid variable and its format. */
export class ConfigError extends Error {}

/** Read and validate the settings. Throws one `ConfigError` for all invalid ones. */
export function readConfig(
  env: Record<string, string | undefined>,
  features: readonly FeatureSettings[] = [],
): Config {
  const errors: string[] = []
  function read({ variable, formerly, description, format, schema, isSecret }: Setting<unknown>): unknown {
    const name = env[variable] || !formerly || !env[formerly] ? variable : formerly
    const result = schema.safeParse(env[name] || undefined)
    if (result.success) return result.data
    // A URL may contain a password.
    const given = isSecret ? 'its current value' : `"${env[name]!.replace(/\/\/.*@/, '//…@')}"`
    errors.push(`${name} must be ${format}, not ${given}. ${description}`)
  }

  const values = Object.fromEntries(
    Object.entries(tableOf(features)).map(([name, setting]) => [name, read(setting)]),
  ) as Values
  if (values.smtpUrl && !env.MAIL_FROM) errors.push(`MAIL_FROM is missing. ${settings.mailFrom.description}`)
  if (values.oidcIssuer && !(values.oidcClientId && values.oidcClientSecret)) {
    errors.push('OIDC_CLIENT_ID or OIDC_CLIENT_SECRET is missing. OIDC_ISSUER needs both.')
  }
  if (values.oidcIssuer && values.oidcTrustedDomains.length > 0 && isOfManyTenants(values.oidcIssuer)) {
    errors.push('OIDC_TRUSTED_DOMAINS does not work with this OIDC_ISSUER: strangers have users there.')
  }
  if (values.backupDir && !values.backupKey && !values.backupPlain) {
    errors.push(
      'BACKUP_KEY is missing: a backup contains all messages. Set it, or BACKUP_PLAIN=1. ' +
        settings.backupKey.description,
    )
  }

  const baseUrl = values.baseUrl ?? `http://localhost:${values.port}`
  const config = Object.freeze({
    ...values,
    baseUrl,
    appUrl: values.appUrl ?? baseUrl,
    externalUnreadPerInbox: Math.ceil(values.unreadPerInbox / 5),
  })
  errors.push(...features.flatMap(({ faults }) => faults?.(config) ?? []))
  if (errors.length > 0) throw new ConfigError(errors.join('\n'))
  return config
}

function tableOf(features: readonly FeatureSettings[]): SettingTable {
  return Object.assign({}, settings, ...features.map(({ table }) => table))
}

/**
 * What the operator should know about the public addresses, if only one of them is HTTPS; otherwise undefined. The grid runs
 * all the same: a proxy of another host may add the encryption.
 */
export function describeMixedAddresses({ baseUrl, appUrl }: Config): string | undefined {
  const isSecure = (url: string) => url.startsWith('https:')
  if (isSecure(baseUrl) === isSecure(appUrl)) return undefined
  return isSecure(appUrl)
    ? `APP_URL is https, but BASE_URL is ${baseUrl}. Keys can cross the network unencrypted, and people can sign in only at APP_URL. Use https for both.`
    : `BASE_URL is https, but APP_URL is ${appUrl}. Passwords can cross the network unencrypted, and cookies are not Secure. Use https for both.`
}

/** What replaced a variable that was a setting; otherwise undefined. */
export function describeRemoved(name: string): string | undefined {
  return Object.hasOwn(removedSettings, name) ? `${name} is no setting any more. ${removedSettings[name]}` : undefined
}

export interface SettingDescription {
  name: string
  description: string
  format: string
  /** The default value, or what is used without one, in words. */
  fallback: string
}

/** Describe every setting, for `agent-grid help settings`. */
export function describeSettings(features: readonly FeatureSettings[] = []): SettingDescription[] {
  return Object.values(tableOf(features)).map(({ variable, description, format, schema, fallback }) => {
    const { default: value } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    return {
      name: variable,
      description,
      format,
      fallback: typeof value === 'string' && value !== '' ? value : fallback,
    }
  })
}

/** Limits of a process that no setting changes. `Deps` hands them on, so that tests can lower them. */
export interface Limits {
  /** Waiting reads of one account, and as many event streams. */
  readonly waitsPerAccount: number
  /** Emails in total, to all recipients. */
  readonly emailsPerHour: number
}

export const limits: Limits = { waitsPerAccount: 2_000, emailsPerHour: 500 }
