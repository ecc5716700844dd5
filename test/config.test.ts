/** Reading the settings. See docs/operating/reference.md, "Settings". */
import { expect, test } from 'vitest'
import {
  type Config,
  ConfigError,
  describeMixedAddresses,
  describeSettings,
  readConfig,
  settingsOf,
} from '../src/config.ts'
import { reservedAliases, setting } from '../src/config/settings.ts'
import { wholeNumber } from '../src/config/values.ts'

test('without settings the grid listens on loopback and stores messages durably in a local file', () => {
  expect(readConfig({})).toMatchObject({
    port: 8787,
    host: '127.0.0.1',
    baseUrl: 'http://localhost:8787',
    appUrl: 'http://localhost:8787',
    databaseUrl: 'file:./data/grid.db',
    durability: 'full',
    externalUnreadPerInbox: 2_000,
    trustedProxies: [],
    reservedAliases,
    allowedOrigins: ['*'],
    oauthAgentTtlSeconds: 28_800,
  })
})

test('an issuer that is open to everyone cannot have trusted domains', () => {
  const env = { OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b', OIDC_TRUSTED_DOMAINS: 'Corp.example, acme.example' }
  const common = { ...env, OIDC_ISSUER: 'https://login.microsoftonline.com/organizations/v2.0' }

  expect(readConfig({ ...env, OIDC_ISSUER: 'https://login.corp.example' }).oidcTrustedDomains)
    .toEqual(['corp.example', 'acme.example'])
  expect(() => readConfig(common)).toThrow(/it is open to everyone/)
})

test('a renamed setting is read by its old name, unless the new one is set', () => {
  const old = { STRANGER_MESSAGES_PER_DAY: '3' }
  expect(readConfig(old).externalMessagesPerDay).toBe(3)
  expect(readConfig({ ...old, EXTERNAL_MESSAGES_PER_DAY: '4' }).externalMessagesPerDay).toBe(4)
  expect(() => readConfig({ STRANGER_MESSAGES_PER_DAY: 'many' })).toThrow(/^STRANGER_MESSAGES_PER_DAY must be/)
})

test('an email server needs a sender address', () => {
  const env = { SMTP_URL: 'smtps://ann:hush@mail.example:465', MAIL_FROM: 'grid@grid.example' }

  expect(readConfig(env)).toMatchObject({ smtpUrl: env.SMTP_URL, mailFrom: { address: env.MAIL_FROM } })
  expect(() => readConfig({ SMTP_URL: env.SMTP_URL })).toThrow(/^MAIL_FROM is missing/)
})

test.each([
  ['SMTP_URL', 'mail.example:25'],
  ['SMTP_URL', 'https://mail.example'],
  ['SMTP_URL', 'smtp://ann:hush@mail.example?requireTLS=false'],
  ['EGRESS_PROXY', 'socks5://ann:hush@proxy.example'],
  ['EGRESS_PROXY', 'http://ann:hush@proxy.example/x'],
  ['EGRESS_PROXY', 'http://ann:50%hush@proxy.example'],
  ['MAIL_FROM', 'Grid <grid@grid.example>, Ann <ann@grid.example>'],
  ['MAIL_FROM', 'Gr\nBcc: x <grid@grid.example>'],
  ['BLOCKED_TARGETS', 'example.com'],
])('the setting %s=%s is refused without printing its password', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name} must be`))
  expect(() => readConfig({ [name]: value })).not.toThrow(/hush/)
})

test.each([
  ['SMTP_URL', 'smtp://ann:p#ss@mail.example:25', '%23'],
  ['SMTP_URL', 'smtp://ann:p/ss@mail.example:25', '%2F'],
  ['MAIL_FROM', 'Grid grid@grid.example', 'Grid <grid@example.com>'],
  ['MAIL_FROM', 'grid@intranet', 'such as grid@example.com'],
])('the setting %s=%s is refused with the expected format', (name, value, form) => {
  expect(() => readConfig({ [name]: value })).toThrow(form)
})

test.each<[string, string, string, unknown]>([
  ['PORT', '65535', 'port', 65_535],
  ['BASE_URL', 'https://Grid.Example:443/', 'baseUrl', 'https://grid.example'],
  ['DATABASE_URL', 'file:///srv/my%20grid.db', 'databaseUrl', 'file:///srv/my%20grid.db'],
  ['DATABASE_URL', 'libsql://grid.turso.io', 'databaseUrl', 'libsql://grid.turso.io'],
  ['TRUSTED_PROXIES', '10.0.0.0/8, ::1 ,192.0.2.1', 'trustedProxies', ['10.0.0.0/8', '::1', '192.0.2.1']],
  ['RESERVED_ALIASES', ' Boss,@chief, ', 'reservedAliases', [...reservedAliases, 'boss', 'chief']],
  ['ALLOWED_ORIGINS', 'https://A.example/,http://b.example:3000', 'allowedOrigins', [
    'https://a.example',
    'http://b.example:3000',
  ]],
  ['A2A_PLAIN_RECEIPTS', '1', 'a2aPlainReceipts', true],
  ['EGRESS_PROXY', 'http://ann:hush@proxy.example:3128', 'egressProxy', 'http://ann:hush@proxy.example:3128'],
  ['MAIL_FROM', ' Grid@Grid.example ', 'mailFrom', { name: 'agent-grid', address: 'grid@grid.example' }],
  ['MAIL_FROM', 'Grid of Acmé <Grid@Grid.example>', 'mailFrom', { name: 'Grid of Acmé', address: 'grid@grid.example' }],
  ['MAIL_FROM', '"Acme, Inc." <grid@grid.example>', 'mailFrom', { name: 'Acme, Inc.', address: 'grid@grid.example' }],
  ['OAUTH_CIMD_HOSTS', 'Claude.ai, vscode.dev', 'oauthCimdHosts', ['claude.ai', 'vscode.dev']],
  ['OAUTH_AGENT_TTL', '5m', 'oauthAgentTtlSeconds', 300],
  ['OAUTH_AGENT_TTL', '24h', 'oauthAgentTtlSeconds', 86_400],
])('the setting %s=%s is read as %s: %j', (name, value, key, expected) => {
  expect(readConfig({ [name]: value })).toHaveProperty(key, expected)
})

test.each([
  ['PORT', 'http'],
  ['PORT', '65536'],
  ['PORT', '8787\n'],
  ['BASE_URL', 'grid.example'],
  ['BASE_URL', 'ftp://grid.example'],
  ['BASE_URL', 'https://grid.example/path'],
  ['BASE_URL', 'https://*.grid.example'],
  ['BASE_URL', 'javascript:alert(1)'],
  ['DATABASE_URL', 'grid.db'],
  ['DATABASE_URL', 'file::memory:'],
  ['DATABASE_URL', 'file:grid.db?mode=ro'],
  ['DATABASE_URL', 'file://server/grid.db'],
  ['DATABASE_URL', 'file:100%.db'],
  ['DATABASE_URL', 'postgres://localhost/grid'],
  ['DURABILITY', 'off'],
  ['TRUSTED_PROXIES', '10.0.0.0/33'],
  ['TRUSTED_PROXIES', '0x0a.0.0.1'],
  ['TRUSTED_PROXIES', '10.0.0.1,*'],
  ['OAUTH_REDIRECT_ALLOW', 'javascript:alert(1)'],
  ['OAUTH_REDIRECT_ALLOW', 'http://client.example/callback'],
  ['OAUTH_REDIRECT_ALLOW', 'editor://client.example*'],
  ['OAUTH_REDIRECT_ALLOW', 'editor://*'],
  ['OAUTH_REDIRECT_ALLOW', 'editor://*/callback'],
  ['OAUTH_AGENT_TTL', '4m'],
  ['OAUTH_AGENT_TTL', '25h'],
  ['OAUTH_AGENT_TTL', '8'],
  ['RESERVED_ALIASES', 'boss;chief'],
  ['ALLOWED_ORIGINS', 'https://*.example'],
  ['A2A_PLAIN_RECEIPTS', 'yes'],
])('the setting %s=%s is refused with its name and format', (name, value) => {
  const { format } = describeSettings().find((setting) => setting.name === name)!

  expect(() => readConfig({ [name]: value })).toThrow(ConfigError)
  expect(() => readConfig({ [name]: value })).toThrow(`${name} must be ${format}, not "${value}".`)
})

test('all invalid settings are reported together, one per line', () => {
  const lines = (() => {
    try {
      readConfig({ PORT: 'x', LOG_LEVEL: 'x', SIGNUP_JOIN: 'x', HOST: 'fine' })
    } catch (error) {
      return (error as Error).message.split('\n')
    }
  })()

  expect(lines?.map((line) => line.split(' ')[0])).toEqual(['PORT', 'SIGNUP_JOIN', 'LOG_LEVEL'])
})

test.each([
  ['http://a.example', undefined, undefined],
  ['https://a.example', undefined, undefined],
  ['https://a.example', 'https://b.example', undefined],
  ['http://a.example', 'https://b.example', 'APP_URL is https, but BASE_URL is http://a.example.'],
  ['https://a.example', 'http://b.example', 'BASE_URL is https, but APP_URL is http://b.example.'],
])('with BASE_URL %s and APP_URL %s the start warns: %s', (base, app, said) => {
  const text = describeMixedAddresses(readConfig({ BASE_URL: base, APP_URL: app }))

  if (said === undefined) expect(text).toBeUndefined()
  else expect(text).toContain(said)
})

test("a feature's settings are read, validated and described like those of the core", () => {
  const table = { depth: setting('GRID_DEPTH', 'How deep it goes.', wholeNumber(1, 9, 3)) }
  const features = [{ table, faults: (config: Config) => settingsOf(config, table).depth === 7 ? ['Not 7.'] : [] }]
  const read = (value?: string) => settingsOf(readConfig({ GRID_DEPTH: value }, features), table).depth

  expect([read(), read('5')]).toEqual([3, 5])
  expect(() => read('10')).toThrow(/^GRID_DEPTH must be .* How deep it goes\.$/)
  expect(() => read('7')).toThrow('Not 7.')
  expect(describeSettings(features)).toContainEqual(expect.objectContaining({ name: 'GRID_DEPTH', fallback: '3' }))
  expect(describeSettings()).not.toContainEqual(expect.objectContaining({ name: 'GRID_DEPTH' }))
})
