/** Reads, validates and describes the settings that `config/settings.ts` lists. */
import * as z from 'zod'
import { removedSettings, type Setting, settings, type SettingTable } from './config/settings.ts'
import { isOfManyTenants } from './lib/issuers.ts'

type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table]: Readonly<z.output<Table[Name]['schema']>>
}

type Values = ValuesOf<typeof settings>

/** The validated settings and the values derived from them. */
export interface Config extends Values {
  /** An origin without a trailing slash. */
  readonly baseUrl: string
  /** An origin without a trailing slash. */
  readonly appUrl: string
  /** A fifth of `unreadPerInbox`, so that other accounts cannot fill the inbox. */
  readonly externalUnreadPerInbox: number
}

/** Settings that an optional feature adds. */
export interface FeatureSettings {
  readonly table: SettingTable
  /** Returns a sentence for each conflict between settings that are valid on their own. */
  readonly faults?: (config: Config) => string[]
}

/** Returns a feature's settings, as `readConfig` parsed them. */
export function settingsOf<Table extends SettingTable>(config: Config, _: Table): ValuesOf<Table> {
  return config as unknown as ValuesOf<Table>
}

/** Error for invalid settings. The message names every invalid variable and its format. */
export class ConfigError extends Error {}

/** Reads and validates the settings. Throws a single `ConfigError` that covers all invalid settings. */
export function readConfig(
  env: Record<string, string | undefined>,
  features: readonly FeatureSettings[] = [],
): Config {
  const errors: string[] = []
  function read({ variable, formerly, description, format, schema, isSecret }: Setting<unknown>): unknown {
    const name = env[variable] || !formerly || !env[formerly] ? variable : formerly
    const result = schema.safeParse(env[name] || undefined)
    if (result.success) return result.data
    // Hides the value of a URL that may contain a password.
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
    errors.push('OIDC_TRUSTED_DOMAINS does not work with this OIDC_ISSUER, because it is open to everyone.')
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
 * Returns a warning if only one of the public addresses uses HTTPS; otherwise undefined. The grid starts anyway,
 * because a proxy on another host may terminate TLS.
 */
export function describeMixedAddresses({ baseUrl, appUrl }: Config): string | undefined {
  const isSecure = (url: string) => url.startsWith('https:')
  if (isSecure(baseUrl) === isSecure(appUrl)) return undefined
  return isSecure(appUrl)
    ? `APP_URL is https, but BASE_URL is ${baseUrl}. Keys can cross the network unencrypted, and people can sign in only at APP_URL. Use https for both.`
    : `BASE_URL is https, but APP_URL is ${appUrl}. Passwords can cross the network unencrypted, and cookies are not Secure. Use https for both.`
}

/** Explains a removed setting. Returns undefined for other variables. */
export function describeRemoved(name: string): string | undefined {
  return Object.hasOwn(removedSettings, name) ? `${name} is no longer a setting. ${removedSettings[name]}` : undefined
}

export interface SettingDescription {
  name: string
  description: string
  format: string
  /** The default value, or a description of the behaviour when the variable is not set. */
  fallback: string
}

/** Describes every setting, for `agent-grid help settings`. */
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

/** Process limits that are not configurable. They are passed through `Deps`, so that tests can lower them. */
export interface Limits {
  /** Maximum number of waiting reads per account, and of event streams per account. */
  readonly waitsPerAccount: number
  /** Maximum number of emails per hour to all recipients together. */
  readonly emailsPerHour: number
}

export const limits: Limits = { waitsPerAccount: 2_000, emailsPerHour: 500 }
