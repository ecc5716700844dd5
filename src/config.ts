/** All settings: description, format, default value and validation. */
import * as z from 'zod'
import ipaddr from 'ipaddr.js'
import { reservedAliases } from './lib/alias.ts'
import { isKeyRing } from './lib/key-ring.ts'
import { isPlainAddress } from './lib/email-address.ts'

interface Setting<T> {
  /** For people. Printed if the value is invalid. */
  description: string
  /** What a value must be, in words. */
  format: string
  schema: z.ZodType<T>
  /** What is used without a value, in words, where the schema has no default. */
  fallback: string
}

function setting<T>(description: string, format: string, schema: z.ZodType<T>, fallback = 'none'): Setting<T> {
  return { description, format, schema, fallback }
}

const wholeNumber = (min: number, max: number, fallback: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max)).prefault(String(fallback))

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3_600 }

/** Parses `45m` or `8h` to seconds. */
const duration = (fallback: string, min: number, max: number) =>
  z.string().regex(/^\d{1,5}[smh]$/).transform((text) => parseInt(text) * unitSeconds[text.at(-1)!])
    .pipe(z.number().min(min).max(max)).prefault(fallback)

const words = (fallback: string) =>
  z.string().transform((text) => text.split(',').map((word) => word.trim()).filter(Boolean)).prefault(fallback)

const onOff = z.enum(['0', '1']).transform((text) => text === '1').prefault('0')

const origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url && /^https?:$/.test(url.protocol) && !url.host.includes('*')
  // Only an origin, perhaps with a final slash: no user, path, query or fragment.
  if (isWeb && url.href === `${url.origin}/`) return url.origin
  context.addIssue('not an origin')
  return z.NEVER
})

const emailAddress = z.string().transform((text) => text.trim().toLowerCase()).refine(isPlainAddress)

// A file URL has only a path: no host, no query, no `:memory:`.
const databaseUrl = /^(file:(\/\/(?=\/))?(?!\/\/|:)(%[0-9a-fA-F]{2}|[^%?#])+|(libsql|https?|wss?):\/\/.+)$/

const settings = {
  PORT: setting('Port to listen on.', 'a number from 0 (any free port) to 65535', wholeNumber(0, 65_535, 8787)),
  HOST: setting(
    'Address to listen on. Use 0.0.0.0 in a container.',
    'an IP address or a host name',
    z.string().min(1).prefault('127.0.0.1'),
  ),
  BASE_URL: setting(
    'Public address of the API host.',
    'an http or https address without a path',
    origin.optional(),
    'http://localhost:PORT',
  ),
  APP_URL: setting(
    'Public address of the web application.',
    'an http or https address without a path',
    origin.optional(),
    'BASE_URL',
  ),
  DATABASE_URL: setting(
    'The database: a local file for one process, or libsql-server or Turso for several.',
    'file:PATH, libsql://…, https://…, http://…, wss://… or ws://…',
    z.string().regex(databaseUrl).prefault('file:./data/grid.db'),
  ),
  DATABASE_AUTH_TOKEN: setting('Token of a remote database.', 'text', z.string().min(1).optional()),
  DURABILITY: setting(
    'full: an acknowledged message is on disk. relaxed: a power failure may lose the last messages.',
    'full or relaxed',
    z.enum(['full', 'relaxed']).prefault('full'),
  ),
  DATABASE_THREAD: setting(
    'Whether a server runs the statements of a local file on a thread of their own.',
    'off or on',
    z.enum(['off', 'on']).prefault('off'),
  ),
  LOCK_WAIT: setting(
    'How long the start waits for another process to release the local file, in seconds.',
    'a number from 0 to 60',
    wholeNumber(0, 60, 0),
  ),
  MIN_FREE_MB: setting(
    'Free megabytes on the disk of a local file below which nothing new is stored, at most a tenth of it. 0: no mark.',
    'a number from 0 to 1000000',
    wholeNumber(0, 1_000_000, 200),
  ),
  BALLAST_MB: setting(
    'Megabytes reserved beside a local file for a full disk, at most a twentieth of it. 0: none.',
    'a number from 0 to 100000',
    wholeNumber(0, 100_000, 64),
  ),
  RETENTION_DAYS: setting(
    'How long messages are kept, read or not, in days.',
    'a number from 7 to 36500',
    wholeNumber(7, 36_500, 90),
  ),
  MESSAGES_PER_DAY: setting(
    'Messages that the agents of one account may send per day; 0 for any number.',
    'a number from 0 to 1000000000',
    wholeNumber(0, 1_000_000_000, 200_000),
  ),
  MEGABYTES_PER_DAY: setting(
    'Megabytes that the messages of one account may add to the database per day; 0 for any number.',
    'a number from 0 to 1000000000',
    wholeNumber(0, 1_000_000_000, 1_000),
  ),
  STRANGER_MESSAGES_PER_DAY: setting(
    'Messages that one account may send to one agent of another account per day; 0 for any number.',
    'a number from 0 to 1000000000',
    wholeNumber(0, 1_000_000_000, 2_000),
  ),
  UNREAD_PER_INBOX: setting(
    'Unread messages of one inbox, from which on it takes no more direct messages, and from a fifth of it on none of other accounts; 0 for any number.',
    'a number from 0 to 1000000000',
    wholeNumber(0, 1_000_000_000, 10_000),
  ),
  AGENTS_PER_ACCOUNT: setting(
    'Agents that one account may have; 0 for any number.',
    'a number from 0 to 1000000',
    wholeNumber(0, 1_000_000, 20_000),
  ),
  TRUSTED_PROXIES: setting(
    'Proxies whose X-Forwarded-For header is trusted.',
    'comma-separated addresses or CIDR ranges',
    words('').refine((list) => list.every(isCidr)),
  ),
  CALLS_PER_SECOND: setting(
    'Calls per second of one credential, in the long run, in each process. 0: no limit.',
    'a number from 0 to 100000',
    wholeNumber(0, 100_000, 200),
  ),
  CALL_BURST: setting(
    'Calls that one credential may make at once, in each process. 0: no limit.',
    'a number from 0 to 10000000',
    wholeNumber(0, 10_000_000, 5_000),
  ),
  ACCOUNT_CALLS_PER_SECOND: setting(
    'Calls per second of all credentials of one account, in the long run, in each process. 0: no limit.',
    'a number from 0 to 1000000',
    wholeNumber(0, 1_000_000, 1_000),
  ),
  ACCOUNT_CALL_BURST: setting(
    'Calls that all credentials of one account may make at once, in each process. 0: no limit.',
    'a number from 0 to 100000000',
    wholeNumber(0, 100_000_000, 20_000),
  ),
  FAILED_KEYS_PER_MINUTE: setting(
    'Requests with a refused key that are answered per client address and minute, in each process. 0: no limit.',
    'a number from 0 to 100000',
    wholeNumber(0, 100_000, 120),
  ),
  MAX_BODY_BYTES_IN_FLIGHT: setting(
    'Bytes of request bodies that the process holds at a time. Beyond, requests are refused with 503.',
    'a number from 4194304 to 4294967296',
    wholeNumber(4_194_304, 4_294_967_296, 67_108_864),
  ),
  SHED_ABOVE_MS: setting(
    'Delay of requests above which the process refuses them with 503, in milliseconds. 0: never.',
    'a number from 0 to 60000',
    wholeNumber(0, 60_000, 3_000),
  ),
  WAITS_PER_ACCOUNT: setting(
    'Waiting reads of an account at a time in one process, and as many event streams.',
    'a number from 1 to 10000',
    wholeNumber(1, 10_000, 2_000),
  ),
  SIGNUP_PER_HOUR: setting(
    'Signups per client address and hour.',
    'a number from 1 to 100000',
    wholeNumber(1, 100_000, 10),
  ),
  SIGNUP_TOTAL_PER_HOUR: setting(
    'Signups per hour in total.',
    'a number from 1 to 1000000',
    wholeNumber(1, 1_000_000, 1_000),
  ),
  SIGN_INS_PER_HOUR: setting(
    'Failed sign-ins per hour in total, from where the user has not signed in before.',
    'a number from 1 to 1000000',
    wholeNumber(1, 1_000_000, 6_000),
  ),
  IPV6_48_FACTOR: setting(
    'How many times the limit of an IPv6 /64 a whole /48 has: signups, sign-ins, emails, client registrations.',
    'a number from 1 to 65536',
    wholeNumber(1, 65_536, 10),
  ),
  SIGNUP_JOIN: setting(
    'email: signups with the same unverified email address share a provisional account. never: each gets its own.',
    'email or never',
    z.enum(['email', 'never']).prefault('email'),
  ),
  RESERVED_ALIASES: setting(
    'More aliases that cannot be taken, besides the built-in ones.',
    'comma-separated aliases',
    words('')
      .transform((list) => list.map((word) => word.replace(/^@/, '').toLowerCase()))
      .refine((list) => list.every((word) => /^[a-z0-9-]+$/.test(word))),
  ),
  ALLOWED_ORIGINS: setting(
    'Browser origins that may call the API. With a loopback BASE_URL only loopback origins may.',
    '* or comma-separated origins',
    words('*').pipe(z.array(z.union([z.literal('*'), origin]))),
  ),
  A2A_PLAIN_RECEIPTS: setting(
    '1: A2A receipts contain only the fields kind, role, messageId and parts.',
    '0 or 1',
    onOff,
  ),
  OAUTH_CIMD: setting(
    'OAuth clients that are identified by the URL of a metadata document. auto: advertised while the internet is reachable.',
    'auto, on or off',
    z.enum(['auto', 'on', 'off']).prefault('auto'),
  ),
  OAUTH_CIMD_HOSTS: setting(
    'Hosts whose client documents are fetched. Clients of other hosts cannot sign in.',
    '* or comma-separated host names',
    words('*').transform((list) => list.map((host) => host.toLowerCase())),
  ),
  OAUTH_DCR: setting(
    'Whether clients can register themselves. Without it opencode and Cursor cannot sign in.',
    'on or off',
    z.enum(['on', 'off']).prefault('on'),
  ),
  OAUTH_CLIENTS_PER_USER: setting(
    'Clients that registered themselves, kept per user who authorized them. The least recently used are removed.',
    'a number from 1 to 10000',
    wholeNumber(1, 10_000, 100),
  ),
  OAUTH_REDIRECT_ALLOW: setting(
    'Redirect URIs that are allowed besides https, loopback addresses and schemes with a dot.',
    'comma-separated URIs',
    words('cursor://anysphere.cursor-mcp/oauth/callback,claude://claude.ai/mcp-auth-callback/sdk')
      .refine((list) => list.every((uri) => URL.canParse(uri) && !/^(javascript|data|http):|#/i.test(uri))),
  ),
  OAUTH_AGENT_TTL: setting(
    'Lifetime of the access tokens of agents. Access tokens of admins last 1 hour.',
    'a duration from 5m to 24h',
    duration('8h', 300, 86_400),
  ),
  OAUTH_REFRESH_GRACE: setting(
    'How long a used refresh token may be used again, in seconds. With 0, parallel clients sign each other out.',
    'a number from 0 to 3600',
    wholeNumber(0, 3_600, 120),
  ),
  GRID_KEYS: setting(
    'Keys that encrypt stored tokens of other services.',
    'comma-separated ID:BASE64 of 32 bytes, the newest first',
    z.string().refine(isKeyRing).optional(),
    'a key ring in the data folder',
  ),
  SMTP_URL: setting(
    'Email server. Without it no email is sent, and email links are printed in the log.',
    'smtp://HOST:PORT or smtps://HOST:PORT, optionally with USER:PASSWORD@',
    z.string().refine(isEmailServer).optional(),
  ),
  MAIL_FROM: setting(
    'Sender address of emails. Required with SMTP_URL.',
    'a plain email address',
    emailAddress.optional(),
  ),
  MAILS_PER_HOUR: setting('Emails per hour in total.', 'a number from 1 to 100000', wholeNumber(1, 100_000, 500)),
  INVITATIONS_PER_HOUR: setting(
    'Invitations per hour that one user can send. In a day it is three times as many.',
    'a number from 1 to 10000',
    wholeNumber(1, 10_000, 100),
  ),
  ALLOW_PRIVATE_TARGETS: setting(
    '1: agents, guardrails and OAuth clients may be in private networks and use http. For tests and closed networks.',
    '0 or 1',
    onOff,
  ),
  BLOCKED_TARGETS: setting(
    'Addresses that the grid never sends requests to, besides private ones.',
    'comma-separated addresses or CIDR ranges',
    words('').refine((list) => list.every(isCidr)),
  ),
  EGRESS_PROXY: setting(
    'CONNECT proxy for requests to remote servers.',
    'http://HOST:PORT or https://HOST:PORT, optionally with USER:PASSWORD@',
    z.string().refine(isProxy).optional(),
  ),
  LOG_LEVEL: setting(
    'Lowest level that is logged, as JSON lines on standard error.',
    'debug, info, warn or error',
    z.enum(['debug', 'info', 'warn', 'error']).prefault('info'),
  ),
} as const

/** Their values are never printed, not even if invalid. */
const secretSettings: string[] = ['DATABASE_AUTH_TOKEN', 'GRID_KEYS', 'SMTP_URL', 'EGRESS_PROXY']

/** The validated settings. `baseUrl` and `appUrl` are origins without a trailing slash. */
export interface Config {
  readonly port: number
  readonly host: string
  readonly baseUrl: string
  readonly appUrl: string
  readonly databaseUrl: string
  readonly databaseAuthToken: string | undefined
  readonly durability: 'full' | 'relaxed'
  /** Whether a server runs the statements of a local file on a thread of their own. */
  readonly databaseThread: 'off' | 'on'
  readonly lockWaitSeconds: number
  /** The low-water mark of the disk of a local file. */
  readonly minFreeMegabytes: number
  readonly ballastMegabytes: number
  readonly retentionDays: number
  readonly messagesPerDay: number
  readonly megabytesPerDay: number
  readonly strangerMessagesPerDay: number
  readonly unreadPerInbox: number
  /** A fifth of it: other accounts cannot fill an inbox so far that its own account cannot write to it. */
  readonly strangerUnreadPerInbox: number
  readonly agentsPerAccount: number
  readonly trustedProxies: readonly string[]
  readonly callsPerSecond: number
  readonly callBurst: number
  readonly accountCallsPerSecond: number
  readonly accountCallBurst: number
  readonly failedKeysPerMinute: number
  readonly maxBodyBytesInFlight: number
  /** 0: no request is refused because the process is overloaded. */
  readonly shedAboveMs: number
  /** Waiting reads, and as many event streams. */
  readonly waitsPerAccount: number
  readonly signupPerHour: number
  readonly signupTotalPerHour: number
  readonly signInsPerHour: number
  /** The limits of an IPv6 /48, as a multiple of those of a /64. */
  readonly ipv6Factor48: number
  readonly signupJoin: 'email' | 'never'
  readonly reservedAliases: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly a2aPlainReceipts: boolean
  readonly oauthCimd: 'auto' | 'on' | 'off'
  readonly oauthCimdHosts: readonly string[]
  readonly oauthDcr: 'on' | 'off'
  readonly oauthClientsPerUser: number
  readonly oauthRedirectAllow: readonly string[]
  readonly oauthAgentTtlSeconds: number
  readonly oauthRefreshGraceSeconds: number
  /** Key ring in the format of `GRID_KEYS`. Undefined: the key ring in the data folder. */
  readonly gridKeys: string | undefined
  /** May contain a password. */
  readonly smtpUrl: string | undefined
  /** Defined if `smtpUrl` is. */
  readonly mailFrom: string | undefined
  readonly mailsPerHour: number
  readonly invitationsPerHour: number
  readonly allowPrivateTargets: boolean
  readonly blockedTargets: readonly string[]
  /** May contain a password. */
  readonly egressProxy: string | undefined
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error'
}

/** The settings are invalid. The message names every invalid variable and its format. */
export class ConfigError extends Error {}

/** Read and validate the settings. Throws one `ConfigError` for all invalid ones. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const errors: string[] = []
  function read<T>(name: keyof typeof settings, definition: Setting<T>): T {
    const result = definition.schema.safeParse(env[name] || undefined)
    if (result.success) return result.data
    // A URL may contain a password.
    const given = secretSettings.includes(name) ? 'its current value' : `"${env[name]!.replace(/\/\/.*@/, '//…@')}"`
    errors.push(`${name} must be ${definition.format}, not ${given}. ${definition.description}`)
    return undefined as T
  }

  const port = read('PORT', settings.PORT)
  const baseUrl = read('BASE_URL', settings.BASE_URL) ?? `http://localhost:${port}`
  const unreadPerInbox = read('UNREAD_PER_INBOX', settings.UNREAD_PER_INBOX)
  const config: Config = {
    port,
    host: read('HOST', settings.HOST),
    baseUrl,
    appUrl: read('APP_URL', settings.APP_URL) ?? baseUrl,
    databaseUrl: read('DATABASE_URL', settings.DATABASE_URL),
    databaseAuthToken: read('DATABASE_AUTH_TOKEN', settings.DATABASE_AUTH_TOKEN),
    durability: read('DURABILITY', settings.DURABILITY),
    databaseThread: read('DATABASE_THREAD', settings.DATABASE_THREAD),
    lockWaitSeconds: read('LOCK_WAIT', settings.LOCK_WAIT),
    minFreeMegabytes: read('MIN_FREE_MB', settings.MIN_FREE_MB),
    ballastMegabytes: read('BALLAST_MB', settings.BALLAST_MB),
    retentionDays: read('RETENTION_DAYS', settings.RETENTION_DAYS),
    messagesPerDay: read('MESSAGES_PER_DAY', settings.MESSAGES_PER_DAY),
    megabytesPerDay: read('MEGABYTES_PER_DAY', settings.MEGABYTES_PER_DAY),
    strangerMessagesPerDay: read('STRANGER_MESSAGES_PER_DAY', settings.STRANGER_MESSAGES_PER_DAY),
    unreadPerInbox,
    strangerUnreadPerInbox: Math.ceil(unreadPerInbox / 5),
    agentsPerAccount: read('AGENTS_PER_ACCOUNT', settings.AGENTS_PER_ACCOUNT),
    trustedProxies: read('TRUSTED_PROXIES', settings.TRUSTED_PROXIES),
    callsPerSecond: read('CALLS_PER_SECOND', settings.CALLS_PER_SECOND),
    callBurst: read('CALL_BURST', settings.CALL_BURST),
    accountCallsPerSecond: read('ACCOUNT_CALLS_PER_SECOND', settings.ACCOUNT_CALLS_PER_SECOND),
    accountCallBurst: read('ACCOUNT_CALL_BURST', settings.ACCOUNT_CALL_BURST),
    failedKeysPerMinute: read('FAILED_KEYS_PER_MINUTE', settings.FAILED_KEYS_PER_MINUTE),
    maxBodyBytesInFlight: read('MAX_BODY_BYTES_IN_FLIGHT', settings.MAX_BODY_BYTES_IN_FLIGHT),
    shedAboveMs: read('SHED_ABOVE_MS', settings.SHED_ABOVE_MS),
    waitsPerAccount: read('WAITS_PER_ACCOUNT', settings.WAITS_PER_ACCOUNT),
    signupPerHour: read('SIGNUP_PER_HOUR', settings.SIGNUP_PER_HOUR),
    signupTotalPerHour: read('SIGNUP_TOTAL_PER_HOUR', settings.SIGNUP_TOTAL_PER_HOUR),
    signInsPerHour: read('SIGN_INS_PER_HOUR', settings.SIGN_INS_PER_HOUR),
    ipv6Factor48: read('IPV6_48_FACTOR', settings.IPV6_48_FACTOR),
    signupJoin: read('SIGNUP_JOIN', settings.SIGNUP_JOIN),
    reservedAliases: [...reservedAliases, ...read('RESERVED_ALIASES', settings.RESERVED_ALIASES) ?? []],
    allowedOrigins: read('ALLOWED_ORIGINS', settings.ALLOWED_ORIGINS),
    a2aPlainReceipts: read('A2A_PLAIN_RECEIPTS', settings.A2A_PLAIN_RECEIPTS),
    oauthCimd: read('OAUTH_CIMD', settings.OAUTH_CIMD),
    oauthCimdHosts: read('OAUTH_CIMD_HOSTS', settings.OAUTH_CIMD_HOSTS),
    oauthDcr: read('OAUTH_DCR', settings.OAUTH_DCR),
    oauthClientsPerUser: read('OAUTH_CLIENTS_PER_USER', settings.OAUTH_CLIENTS_PER_USER),
    oauthRedirectAllow: read('OAUTH_REDIRECT_ALLOW', settings.OAUTH_REDIRECT_ALLOW),
    oauthAgentTtlSeconds: read('OAUTH_AGENT_TTL', settings.OAUTH_AGENT_TTL),
    oauthRefreshGraceSeconds: read('OAUTH_REFRESH_GRACE', settings.OAUTH_REFRESH_GRACE),
    gridKeys: read('GRID_KEYS', settings.GRID_KEYS),
    smtpUrl: read('SMTP_URL', settings.SMTP_URL),
    mailFrom: read('MAIL_FROM', settings.MAIL_FROM),
    mailsPerHour: read('MAILS_PER_HOUR', settings.MAILS_PER_HOUR),
    invitationsPerHour: read('INVITATIONS_PER_HOUR', settings.INVITATIONS_PER_HOUR),
    allowPrivateTargets: read('ALLOW_PRIVATE_TARGETS', settings.ALLOW_PRIVATE_TARGETS),
    blockedTargets: read('BLOCKED_TARGETS', settings.BLOCKED_TARGETS),
    egressProxy: read('EGRESS_PROXY', settings.EGRESS_PROXY),
    logLevel: read('LOG_LEVEL', settings.LOG_LEVEL),
  }
  if (config.smtpUrl && !env.MAIL_FROM) errors.push(`MAIL_FROM is missing. ${settings.MAIL_FROM.description}`)
  if (errors.length > 0) throw new ConfigError(errors.join('\n'))
  return Object.freeze(config)
}

/**
 * What to tell the operator about the public addresses, if only one of them is HTTPS; otherwise undefined. The grid runs
 * all the same: a proxy of another host may add the encryption.
 */
export function describeMixedAddresses({ baseUrl, appUrl }: Config): string | undefined {
  const isSecure = (url: string) => url.startsWith('https:')
  if (isSecure(baseUrl) === isSecure(appUrl)) return undefined
  return isSecure(appUrl)
    ? `APP_URL is https, but BASE_URL is ${baseUrl}. Keys can cross the network unencrypted, and people can sign in only at APP_URL. Use https for both.`
    : `BASE_URL is https, but APP_URL is ${appUrl}. Passwords can cross the network unencrypted, and cookies are not Secure. Use https for both.`
}

/** What people read about a setting. */
export interface SettingDescription {
  name: string
  description: string
  format: string
  /** The default value, or what is used without one, in words. */
  fallback: string
}

/** Describe every setting, for `agent-grid help settings`. */
export function describeSettings(): SettingDescription[] {
  return Object.entries(settings).map(([name, { description, format, schema, fallback }]) => {
    const { default: value } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    return { name, description, format, fallback: typeof value === 'string' && value !== '' ? value : fallback }
  })
}

function isCidr(text: string): boolean {
  return ipaddr.isValidCIDR(text) || ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
}

function isProxy(text: string): boolean {
  return isServer(text, /^https?:$/)
}

/** No query is allowed: the email library would read options from it. */
function isEmailServer(text: string): boolean {
  return isServer(text, /^smtps?:$/)
}

/** Whether a URL has only a scheme and a host, perhaps with a user and a port. */
function isServer(text: string, protocols: RegExp): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, search, hash } = new URL(text)
  return protocols.test(protocol) && hostname !== '' && /^\/?$/.test(`${pathname}${search}${hash}`)
}
