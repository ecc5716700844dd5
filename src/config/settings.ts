/**
 * The table of settings, with the property name, environment variable, value and purpose of each. The configuration's
 * type, its parser and `agent-grid help settings` are derived from this table, in this order.
 */
import * as z from 'zod'
import {
  addressRanges,
  databaseUrl,
  duration,
  emailAddress,
  emailServer,
  flag,
  keyRing,
  oneOf,
  origins,
  proxy,
  publicAddress,
  publicAddresses,
  type Value,
  value,
  wholeNumber,
  words,
} from './values.ts'

/** Aliases that could be mistaken for a part of the grid or for everyone. */
export const reservedAliases: readonly string[] = [
  ...['admin', 'administrator', 'channel', 'grid', 'system', 'support', 'security', 'root', 'owner', 'api', 'www'],
  ...['tasks', 'all', 'everyone', 'here'],
]

export interface Setting<T> extends Value<T> {
  variable: string
  /** An alternative variable, read if the main one is not set. */
  formerly?: string
  /** Shown to people if the value is invalid. */
  description: string
  /** Describes the behaviour when the variable is not set, if the schema has no default. */
  fallback: string
  /** Whether the value must never be printed, not even if it is invalid. */
  isSecret: boolean
}

/** Settings by their property names. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>

export function setting<T>(
  variable: string,
  description: string,
  value: Value<T>,
  { fallback = 'none', isSecret = false, formerly }: Partial<Pick<Setting<T>, 'fallback' | 'isSecret' | 'formerly'>> =
    {},
): Setting<T> {
  return { variable, description, ...value, fallback, isSecret, ...(formerly && { formerly }) }
}

/** OAuth callbacks of editors, each taken from the client's documentation or code. Cline has one id per server. */
const editorRedirects = [
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'claude://claude.ai/mcp-auth-callback/sdk',
  'warp://mcp/oauth2callback',
  'raycast://oauth?package_name=*',
  ...['vscode', 'vscode-insiders', 'cursor', 'windsurf'].map((editor) =>
    `${editor}://saoudrizwan.claude-dev/mcp-auth/callback/*`
  ),
]

/** Removed variables of earlier versions, each with an explanation. */
export const removedSettings: Readonly<Record<string, string>> = {
  A2A_BLOCKING_STRICT: 'Whether calls over A2A wait for an agent is set on the settings page of the agent.',
  A2A_BLOCKING_MAX_SECONDS: 'A call over A2A waits 30 seconds at most; the header "Prefer: wait=N" shortens it.',
  LOCK_WAIT: 'A server waits up to 20 seconds for another process to release the local file.',
  MAILS_PER_HOUR: 'The grid sends up to 500 emails an hour.',
  OAUTH_REFRESH_GRACE: 'A used refresh token works again for 120 seconds.',
  WAITS_PER_ACCOUNT: 'An account may have 2,000 waiting reads in one process, and as many event streams.',
}

export const settings = {
  port: setting(
    'PORT',
    'Port to listen on.',
    { ...wholeNumber(0, 65_535, 8787), format: 'a number from 0 (any free port) to 65535' },
  ),
  host: setting(
    'HOST',
    'Address to listen on. Use 0.0.0.0 in a container.',
    value('an IP address or a host name', z.string().min(1).prefault('127.0.0.1')),
  ),
  baseUrl: setting('BASE_URL', 'Public address of the API host.', publicAddress, {
    fallback: 'http://localhost:PORT',
  }),
  appUrl: setting('APP_URL', 'Public address of the web application.', publicAddress, { fallback: 'BASE_URL' }),
  extraBaseUrls: setting(
    'EXTRA_BASE_URLS',
    'Further addresses at which programs reach the grid (MCP, A2A, REST, OAuth and agent cards). Pages are served only at APP_URL.',
    publicAddresses,
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    'The database: a local file for one process, or libsql-server or Turso for several.',
    databaseUrl('file:./data/grid.db'),
  ),
  databaseAuthToken: setting(
    'DATABASE_AUTH_TOKEN',
    'Token of a remote database.',
    value('text', z.string().min(1).optional()),
    { isSecret: true },
  ),
  durability: setting(
    'DURABILITY',
    'full: every acknowledged message is on disk. relaxed: a power failure may lose the last messages.',
    oneOf(['full', 'relaxed'], 'full'),
  ),
  /** Minimum free disk space for a local file. */
  minFreeMegabytes: setting(
    'MIN_FREE_MB',
    'Minimum free space in megabytes on the disk of a local file, but at most a tenth of the disk. Below the minimum nothing new is stored. 0: no minimum.',
    wholeNumber(0, 1_000_000, 200),
  ),
  maxFileBytes: setting(
    'MAX_FILE_BYTES',
    'The largest file that agents can upload, in bytes.',
    wholeNumber(0, 1024 ** 3, 32 * 1024 ** 2),
  ),
  retentionDays: setting(
    'RETENTION_DAYS',
    'How long messages are kept, read or not, in days.',
    wholeNumber(7, 36_500, 90),
  ),
  messagesPerDay: setting(
    'MESSAGES_PER_DAY',
    'Messages that the agents of one account may send per day; 0 for any number.',
    wholeNumber(0, 1_000_000_000, 200_000),
  ),
  megabytesPerDay: setting(
    'MEGABYTES_PER_DAY',
    'Megabytes that the messages of one account may add to the database per day; 0 for any number.',
    wholeNumber(0, 1_000_000_000, 1_000),
  ),
  externalMessagesPerDay: setting(
    'EXTERNAL_MESSAGES_PER_DAY',
    'Messages that one account may send to a single agent of another account per day; 0 for any number.',
    wholeNumber(0, 1_000_000_000, 2_000),
    { formerly: 'STRANGER_MESSAGES_PER_DAY' },
  ),
  unreadPerInbox: setting(
    'UNREAD_PER_INBOX',
    'Number of unread messages at which an inbox refuses direct messages. Messages from other accounts are refused at a fifth of this number. 0 for any number.',
    wholeNumber(0, 1_000_000_000, 10_000),
  ),
  agentsPerAccount: setting(
    'AGENTS_PER_ACCOUNT',
    'Agents that one account may have; 0 for any number.',
    wholeNumber(0, 1_000_000, 20_000),
  ),
  trustedProxies: setting('TRUSTED_PROXIES', 'Proxies whose X-Forwarded-For header is trusted.', addressRanges),
  callsPerSecond: setting(
    'CALLS_PER_SECOND',
    'Calls per second of one credential in each process, on average. A burst may have 25 times as many, and all credentials of an account together 5 times as many. 0: no limit.',
    wholeNumber(0, 100_000, 200),
  ),
  signupPerHour: setting(
    'SIGNUP_PER_HOUR',
    'Signups per client address and hour, and 100 times as many in total.',
    wholeNumber(1, 100_000, 10),
  ),
  signupJoin: setting(
    'SIGNUP_JOIN',
    'email: signups with the same unverified email address share a provisional account. never: each gets its own.',
    oneOf(['email', 'never'], 'email'),
  ),
  /** Includes the built-in reserved aliases. */
  reservedAliases: setting(
    'RESERVED_ALIASES',
    'Aliases that are reserved in addition to the built-in ones.',
    value(
      'comma-separated aliases',
      words('')
        .transform((list) => list.map((word) => word.replace(/^@/, '').toLowerCase()))
        .refine((list) => list.every((word) => /^[a-z0-9-]+$/.test(word)))
        .transform((list) => [...reservedAliases, ...list]),
    ),
  ),
  allowedOrigins: setting(
    'ALLOWED_ORIGINS',
    'Browser origins that may call the API, of any scheme. With a loopback BASE_URL, * stands for loopback origins only.',
    origins,
  ),
  a2aPlainReceipts: setting(
    'A2A_PLAIN_RECEIPTS',
    '1: A2A receipts contain only the fields kind, role, messageId and parts.',
    flag,
  ),
  oauthCimd: setting(
    'OAUTH_CIMD',
    'OAuth clients that are identified by the URL of a metadata document. auto: advertised while the internet is reachable.',
    oneOf(['auto', 'on', 'off'], 'auto'),
  ),
  oauthCimdHosts: setting(
    'OAUTH_CIMD_HOSTS',
    'Hosts whose client documents are fetched. Clients of other hosts cannot sign in.',
    value('* or comma-separated host names', words('*').transform((list) => list.map((host) => host.toLowerCase()))),
  ),
  oauthDcr: setting(
    'OAUTH_DCR',
    'Whether OAuth clients can register themselves. If not, opencode and Cursor cannot sign in.',
    oneOf(['on', 'off'], 'on'),
  ),
  oauthRedirectAllow: setting(
    'OAUTH_REDIRECT_ALLOW',
    'Redirect URIs that are allowed in addition to https, loopback addresses and schemes with a dot. `*` at the end stands for one segment.',
    value(
      'comma-separated URIs',
      words(editorRedirects.join(','))
        .refine((list) => list.every((uri) => URL.canParse(uri) && !/^(javascript|data|file|http):|#/i.test(uri)))
        // Refuses a wildcard within the host, which could match other people's hosts.
        .refine((list) => list.every((uri) => !uri.includes('*') || /^[^*]*[^/*][/=]\*$/.test(uri))),
    ),
  ),
  oauthAgentTtlSeconds: setting(
    'OAUTH_AGENT_TTL',
    'Lifetime of the access tokens of agents. Access tokens of admins last 1 hour.',
    duration('5m', '24h', '8h'),
  ),
  /** Undefined if no backups are scheduled. */
  backupDir: setting(
    'BACKUP_DIR',
    'Folder for scheduled backups. Every process of a server needs this setting; one of them makes each backup.',
    value('a path', z.string().optional()),
    { fallback: 'no scheduled backups' },
  ),
  backupEverySeconds: setting('BACKUP_EVERY', 'How often a scheduled backup is made.', duration('10m', '720h', '24h')),
  backupKeep: setting('BACKUP_KEEP', 'How many scheduled backups are kept.', wholeNumber(1, 1_000, 7)),
  /** At least 12 characters. If undefined, backups are unencrypted or not scheduled. */
  backupKey: setting(
    'BACKUP_KEY',
    'Passphrase that encrypts and decrypts backups. Store it separately from the backups.',
    value('a text of at least 12 characters', z.string().trim().min(12).optional()),
    { isSecret: true },
  ),
  backupPlain: setting('BACKUP_PLAIN', '1: scheduled backups are not encrypted if there is no BACKUP_KEY.', flag),
  /** The key ring. If undefined, the key ring in the data folder is used. */
  gridKeys: setting('GRID_KEYS', 'Keys that encrypt stored tokens of other services.', keyRing, {
    fallback: 'a key ring in the data folder',
    isSecret: true,
  }),
  /** May contain a password. */
  smtpUrl: setting(
    'SMTP_URL',
    'Email server. Without it no email is sent, and email links are printed in the log.',
    emailServer,
    { isSecret: true },
  ),
  /** Defined if `smtpUrl` is defined. */
  mailFrom: setting(
    'MAIL_FROM',
    'Sender of emails, with the name agent-grid unless it has another. Required with SMTP_URL.',
    emailAddress('agent-grid'),
  ),
  allowPrivateTargets: setting(
    'ALLOW_PRIVATE_TARGETS',
    '1: agents, guardrails and OAuth clients may be in private networks and use http. For tests and closed networks.',
    flag,
  ),
  blockedTargets: setting(
    'BLOCKED_TARGETS',
    'Addresses that the grid never sends requests to, in addition to private ones.',
    addressRanges,
  ),
  /** May contain a password. */
  egressProxy: setting('EGRESS_PROXY', 'CONNECT proxy for requests to remote servers.', proxy, { isSecret: true }),
  /** Undefined if the grid has no provider of single sign-on. */
  oidcIssuer: setting(
    'OIDC_ISSUER',
    'OpenID Connect provider with which users sign in. It may be in a private network.',
    value('an http or https URL', z.url({ protocol: /^https?$/ }).optional()),
  ),
  oidcClientId: setting(
    'OIDC_CLIENT_ID',
    'Client id that the provider gave this grid. Required with OIDC_ISSUER.',
    value('text', z.string().min(1).optional()),
  ),
  oidcClientSecret: setting(
    'OIDC_CLIENT_SECRET',
    'Secret of that client. Required with OIDC_ISSUER.',
    value('text', z.string().min(1).optional()),
    { isSecret: true },
  ),
  oidcName: setting(
    'OIDC_NAME',
    'What the sign-in page calls the provider.',
    value('a text of up to 80 characters', z.string().min(1).max(80).prefault('single sign-on')),
  ),
  oidcTrustedDomains: setting(
    'OIDC_TRUSTED_DOMAINS',
    'Domains whose addresses count as verified even if the provider does not report it. ' +
      'Only if users cannot choose their own address there.',
    value(
      'comma-separated domains',
      words('').pipe(z.array(z.string().toLowerCase().regex(/^([a-z0-9-]+\.)+[a-z0-9-]+$/))),
    ),
  ),
  oidcEmailClaim: setting(
    'OIDC_EMAIL_CLAIM',
    'Claim that holds the email address for those domains, such as preferred_username. Empty: email.',
    value('the name of a claim', z.string().max(100).prefault('')),
  ),
  oidcScopes: setting(
    'OIDC_SCOPES',
    'Scopes to request in addition to openid, email and profile, separated by spaces.',
    value('a text of up to 200 characters', z.string().max(200).prefault('')),
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'Lowest level that is logged, as JSON lines on standard error.',
    oneOf(['debug', 'info', 'warn', 'error'], 'info'),
  ),
} as const
