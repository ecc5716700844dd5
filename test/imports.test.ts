/** The rules for imports between folders, and for words that may occur only in one place. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/**
 * The allowed imports of one place. An entry ending in `/` is a folder. Every place may import from itself and from
 * node.
 */
interface Rule {
  ours: string[]
  /** Allowed only as `import type`. */
  types?: string[]
  packages?: string[]
}

/** The files that every part of the server may import. */
const ground = ['aliases.ts', 'errors.ts', 'lib/', 'call-trace.ts', 'presence.ts', 'clients/snippets.ts']

const everyDoor = ['mcp/', 'a2a/', 'rest/', 'oauth/', 'web/']
const door: Rule = {
  ours: ['grid/', 'answers/', 'guardrails/', 'auth/actor.ts', 'store/account.ts', 'wire.ts', ...ground],
  types: ['auth/bearer.ts', 'deps.ts', 'request-context.ts', 'store/account/'],
}
const browserDoor: Rule = {
  ours: [...door.ours, 'html/', 'auth/session.ts', 'auth/passwords.ts'],
  types: [...door.types!, 'store/store.ts'],
  packages: ['hono'],
}

/** Verbs in one account. */
const verbs: Rule = {
  ours: ['grid/', 'store/account/', 'store/account.ts', 'guardrails/', 'remote/', 'auth/actor.ts']
    .concat(ground),
  types: ['store/sql.ts', 'deps.ts'],
}
/** Verbs on global objects (users, their grants, limits), and those that create or join an account. */
const globalVerbs: Rule = {
  ours: [...verbs.ours, 'auth/passwords.ts', 'auth/passkeys.ts', 'auth/totp.ts'],
  types: [...verbs.types!, 'store/store.ts', 'store/global/'],
}

const rules: Record<string, Rule> = {
  'main.ts': { ours: ['cli/'] },
  'client.ts': { ours: ['cli/'] },
  // The code that runs on threads.
  'thread.ts': { ours: ['store/backup/', 'feature-jobs.ts', 'guardrails/local-checks.ts'], types: ['lib/'] },
  'start.ts': { ours: ['main.ts', 'client.ts', 'cli/client-words.ts'] },
  'cli/': {
    ours: [
      'app.ts',
      'listen.ts',
      'config.ts',
      'deps.ts',
      'features.ts',
      'log.ts',
      'store/',
      'worker/',
      'grid/',
      'clients/',
      'errors.ts',
    ]
      // The command line hashes passwords and creates the process's control token before it calls a verb.
      .concat('auth/passwords.ts', 'email.ts', 'guardrails/providers.ts', ...ground),
    packages: ['leven', 'zod'],
  },
  // The code that creates the example grid. It calls verbs as interfaces do.
  'cli/example/': {
    ours: [
      'cli/',
      'config.ts',
      'errors.ts',
      'features.ts',
      'features/webhooks/webhooks.ts',
      'store/',
      'worker/',
      'grid/',
      'auth/',
      'lib/',
    ],
  },
  // The programs on clients' machines, without the server.
  'clients/': { ours: ['aliases.ts', 'lib/'], packages: ['jsonc-parser', 'smol-toml'] },
  'app.ts': {
    ours: [...everyDoor, 'auth/', 'edge.ts', 'wire.ts', 'features.ts', ...ground],
    types: ['store/store.ts', 'deps.ts', 'request-context.ts', 'listen.ts'],
    packages: ['hono'],
  },
  // Shared code for sending a response over a connection.
  'answers/': { ours: ['grid/', 'errors.ts', 'lib/'], types: ['store/account.ts'] },
  'request-context.ts': { ours: [], types: ['listen.ts', 'lib/', 'call-trace.ts'], packages: ['hono'] },
  'edge.ts': {
    ours: ['errors.ts', 'lib/', 'call-trace.ts'],
    types: ['deps.ts', 'request-context.ts'],
    packages: ['hono'],
  },
  // Signup creates or joins the account in which it then works, so these two interfaces pass the complete store to it.
  'mcp/': {
    ...door,
    types: [...door.types!, 'store/store.ts'],
    packages: ['zod', '@modelcontextprotocol/server'],
  },
  'rest/': { ...door, types: [...door.types!, 'store/store.ts'], packages: ['zod'] },
  // Cards are signed with the grid's keys, for agents of any account.
  'a2a/': { ...door, types: [...door.types!, 'store/store.ts'] },
  // OAuth writes its own rows of clients, grants and tokens. Their types are in the store.
  'oauth/': {
    ...browserDoor,
    types: [...browserDoor.types!, 'store/global/'],
    packages: ['hono', 'zod'],
  },
  'web/': browserDoor,
  // The core uses optional features only through their slots.
  'features.ts': { ours: ['features/'], types: ['feature.ts', 'telemetry.ts'] },
  'feature-jobs.ts': { ours: ['features/'] },
  'feature.ts': {
    ours: [],
    types: ['cli/command.ts', 'grid/outboxes/', 'store/', 'web/visit.ts', 'request-context.ts', 'telemetry.ts', 'lib/'],
  },
  'worker/': { ours: ['grid/', 'store/', 'auth/actor.ts', 'features.ts', ...ground], types: ['deps.ts'] },
  'grid/': verbs,
  'grid/accounts/': globalVerbs,
  'grid/people/': globalVerbs,
  // Signing keys and public agents belong to no account.
  'grid/cards.ts': globalVerbs,
  // A callback names no account.
  'grid/remote-agents/callback.ts': globalVerbs,
  'grid/oauth/': globalVerbs,
  // The providers and their configurations.
  'guardrails/': { ours: ['errors.ts', 'lib/'], packages: ['zod', 're2js', 'franc', 'validator'] },
  'remote/': { ours: ['errors.ts', 'lib/'], packages: ['zod', '@a2a-js/sdk'] },
  'auth/': {
    ours: ['errors.ts', 'lib/'],
    types: ['store/', 'deps.ts', 'request-context.ts'],
    packages: ['hono', '@node-rs/argon2', 'zod', '@simplewebauthn/server', 'otpauth'],
  },
  'wire.ts': { ours: ['errors.ts', 'html/error-page.tsx'], types: ['lib/'] },
  'html/': { ours: ['errors.ts', 'lib/'], types: ['auth/actor.ts'], packages: ['hono', 'markdown-it', 'qr'] },
  'store/': {
    ours: [
      '../db/schema.ts',
      '../db/migrations.ts',
      '../db/derived-tables.ts',
      'auth/actor.ts',
      'errors.ts',
      'lib/',
      'call-trace.ts',
      'presence.ts',
    ],
    types: ['deps.ts', 'telemetry.ts'],
    packages: ['drizzle-orm', '@libsql/client', '@libsql/hrana-client', 'libsql'],
  },
  'listen.ts': { ours: ['listen/'] },
  'listen/': {
    ours: [
      'lib/limits/request-scheduler.ts',
      'lib/http/sent-answers.ts',
      'lib/http/tiny-chunks.ts',
    ],
    types: ['errors.ts', 'lib/http/caller-connection.ts', 'lib/http/client-address.ts'],
    packages: ['@hono/node-server'],
  },
  'email.ts': { ours: ['lib/'], types: ['deps.ts'], packages: ['nodemailer'] },
  'log.ts': { ours: ['lib/'], types: ['deps.ts'] },
  'config.ts': { ours: ['config/', 'lib/issuers.ts'], packages: ['zod'] },
  'config/': { ours: ['lib/'], packages: ['zod', 'ipaddr.js'] },
  'deps.ts': { ours: [], types: ['guardrails/providers.ts', 'lib/', 'telemetry.ts'] },
  'presence.ts': { ours: ['lib/'] },
  'call-trace.ts': { ours: ['errors.ts'], types: ['lib/', 'telemetry.ts'] },
  // The interface through which the core records measurements.
  'telemetry.ts': { ours: [], types: ['lib/'] },
  'errors.ts': { ours: [] },
  'aliases.ts': { ours: ['errors.ts'] },
  'lib/': {
    ours: ['errors.ts'],
    types: ['deps.ts'],
    packages: [
      'hono',
      '@oslojs/crypto',
      '@oslojs/encoding',
      'zod',
      'ipaddr.js',
      'leven',
      'secure-json-parse',
      'uuid',
      'jose',
      'standardwebhooks',
    ],
  },
}

/** Optional features: interface, verbs and pages in one folder, on top of the core. None imports another. */
const featureFolders = sourceFolders('src/features').map((name) => `features/${name}/`)
const foldersOrFiles = (name: string) =>
  featureFolders.map((folder) => `${folder}${name}`).filter((path) => existsSync(join('src', path)))
/** The store of a feature is a folder if a single file would be too long. */
const featureStores = [...foldersOrFiles('store.ts'), ...foldersOrFiles('store/')]
const featureCommands = foldersOrFiles('commands/')
const feature: Rule = {
  ours: [...globalVerbs.ours, 'answers/', 'config.ts', 'config/', 'wire.ts', 'web/', 'html/'],
  types: [...globalVerbs.types!, 'feature.ts', 'request-context.ts', 'telemetry.ts'],
  packages: ['hono', 'zod'],
}
for (const folder of featureFolders) rules[folder] = feature
for (const path of featureCommands) {
  rules[path] = { ours: ['cli/', 'store/', 'config.ts', 'errors.ts', ...ground] }
}
rules['features/notifications/'] = { ...feature, packages: ['hono', 'http_ece', 'jose'] }
// The code that talks to single sign-on providers.
rules['features/single-sign-on/oidc.ts'] = { ours: ['errors.ts', 'lib/'], packages: ['openid-client'] }
rules['features/telemetry/'] = {
  ...feature,
  packages: [
    ...feature.packages!,
    'prom-client',
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ],
}
for (const path of featureStores) {
  rules[path] = {
    ours: ['store/sql.ts', 'store/account/', 'store/global/', '../db/schema.ts', 'lib/'],
    types: ['auth/actor.ts'],
  }
}
// A thread writes an archive from a copy of the database, and stores its rows unchanged.
const archiveStore = rules['features/archives/store/']
archiveStore.ours.push('store/backup/', 'store/driver/', '../db/derived-tables.ts', 'aliases.ts', 'errors.ts')
archiveStore.types!.push('store/store.ts')
archiveStore.packages = ['@libsql/client']

/** These files find due work in the accounts. */
const dutiesOfFeatures = ['features/notifications/due-digests.ts', 'features/notifications/push-notifier.ts']

/** Settings are plain data, so every place may import their type. */
const forAll = ['config.ts']

/** Words that belong to one place. `only` lists files or folders in `src`; everywhere else the word is an error. */
const words: { word: RegExp; only: string[]; why: string }[] = [
  {
    word: /\baddMember\(|INTO memberships/,
    only: ['grid/people/join.ts', 'store/account/team.ts'],
    why: 'one function decides who joins an account',
  },
  {
    word: /(caller-connection|streamed-body|event-stream|sent-answers)\.ts'/,
    only: [
      'mcp/',
      'a2a/',
      'rest/',
      'oauth/',
      'web/',
      'answers/',
      'listen/',
      'app.ts',
      'lib/',
      'features/archives/download.ts',
    ],
    why: 'doors alone know connections',
  },
  { word: /\btransaction\(/, only: [], why: 'there are no interactive transactions: a write is a list of statements' },
  {
    word: /\bclient\.batch\(/,
    only: ['store/queue.ts', 'store/driver/file-lock.ts'],
    why: 'writes go through the queue',
  },
  {
    word: /\bclient\.execute\(/,
    only: [
      'store/sql.ts',
      'store/store.ts',
      'store/open-database.ts',
      'store/health.ts',
      'store/migrate.ts',
      'store/driver/',
      'store/backup/',
    ],
    why: 'a change that does not pass the queue would not drop what was looked up before',
  },
  { word: /\bclient\.migrate\(/, only: ['store/migrate.ts'], why: 'only a migration switches foreign keys off' },
  {
    // The page script uses the browser's clock.
    word: /\bDate\.now\(|\bnew Date\(\)/,
    only: ['log.ts', 'cli/', 'clients/', 'html/scripts/times.ts', ...featureCommands],
    why: 'deps.now is the only clock',
  },
  {
    word: /\baccountId\b/,
    // A person's grants are in several accounts, and so are the logs of the operator's actions for a person.
    only: ['auth/', 'store/', 'oauth/', 'worker/', 'cli/', 'grid/oauth/', 'grid/people/operator.ts']
      .concat(featureStores, dutiesOfFeatures),
    why: 'an AccountStore knows its account',
  },
  {
    word: /\.account\(/,
    // These files create or find the account in which they then work.
    only: [
      'auth/',
      'store/',
      'worker/',
      'cli/',
      'grid/accounts/',
      'grid/people/',
      'grid/oauth/',
      'features/single-sign-on/',
      'features/incoming/receive.ts',
      'features/slack/receive.ts',
      'features/archives/archive.ts',
      'features/webhooks/conditions.ts',
      ...dutiesOfFeatures,
    ],
    why: 'doors are given their account',
  },
  {
    word: /\.guarding\(/,
    only: ['grid/message/check-guardrails.ts', 'grid/send/hold.ts'],
    why: 'only the check of a message reads guardrails and rules of another account',
  },
  {
    word: /\.ofSender\(/,
    only: ['grid/approvals/'],
    why: 'only who decides on a held message acts in the account of its sender',
  },
  {
    word: /\bINTO\s+agents\b|\bUPDATE\s+agents\s+SET\s+deleted_at\s*=\s*:at\b/,
    only: ['store/account/agent-rows.ts'],
    why: 'addAgent and deleteAgents have all that belongs to an agent',
  },
  {
    word: /\bINTO\s+(deliveries|remote_outboxes)\b/,
    only: ['store/account/deliver.ts'],
    why: 'a delivery to a remote agent is due, and one that is awaited goes to the agent that waits',
  },
  {
    word: /\b(UPDATE|INTO)\s+tasks\b|\bINTO\s+task_events\b/,
    only: ['store/account/task-changes.ts'],
    why: 'changeTask adds the event and the row of the log',
  },
  {
    word: /\bINTO\s+held_messages\b/,
    only: ['store/account/held-changes.ts'],
    why: 'the log has each message that is held',
  },
  {
    word: /\b(UPDATE|INTO)\s+\$\{/,
    only: [
      // After inserting agents and deliveries, an import also runs `completeAgent` and `makeMessageDue`.
      'features/archives/store/insert-rows.ts',
      // The following files write to no table of the rules above, or copy all rows unchanged.
      'store/global/claims.ts',
      'store/global/sealed-tokens.ts',
      'store/account/remote-agents.ts',
      'store/backup/tables.ts',
    ],
    why: 'the rules above read names of tables',
  },
  { word: /\bsql\.raw\(|\bsql\.identifier\(/, only: [], why: 'no text becomes SQL' },
  {
    word: /\bconsole\.|\bstdout\.write\(/,
    only: ['log.ts', 'cli/output.ts'],
    why: 'deps.log cuts secrets, and the output of commands obeys no text of another machine',
  },
  {
    word: /(?<![.\w])fetch\(/,
    // The database driver calls the operator's database. listen/ uses only the name `fetch`, for its handler.
    // html/scripts/ runs in the browser, whose policy restricts it to this origin.
    only: ['store/open-database.ts', 'listen/', 'html/scripts/', 'features/notifications/page-script.ts', 'clients/'],
    why: 'deps.safeFetch is the only way out',
  },
  {
    word: /'node:(https?|net|tls|dgram|dns|dns\/promises)'/,
    only: [
      'lib/outbound/safe-stream.ts',
      'lib/outbound/safe-connect.ts',
      'lib/free-port.ts',
      'lib/http/sent-answers.ts',
      // These files connect to the operator's database.
      'store/driver/remote-stream.ts',
      'listen/',
      'cli/',
      'clients/',
    ],
    why: 'deps.safeFetch is the only way out',
  },
  {
    // The page script runs in a browser.
    word: /\bWebSocket\(|\bEventSource\(|\bDeno\.connect/,
    only: ['html/scripts/live/stream.ts'],
    why: 'deps.safeFetch is the only way out',
  },
  { word: /\bnodemailer\b/, only: ['email.ts'], why: 'email is sent in one place, which checks the addresses' },
  {
    word: /\bprocess\.env\b/,
    only: ['cli/', 'clients/', ...featureCommands],
    why: 'the environment is read once, into the configuration',
  },
  {
    word: /\braw\(|dangerouslySetInnerHTML/,
    only: ['store/driver/file-client.ts', 'store/driver/prepared-statement.ts'],
    why: 'pages escape everything',
  },
]

/** All files that may take part in an import, with their texts. */
const tree = ['src', 'db', 'scripts', 'test'].flatMap(sourceFiles).map((path) => ({
  path,
  text: withoutComments(readFileSync(path, 'utf8')),
}))

const files = sourceFiles('src').map((path) => ({
  path: path.slice('src/'.length),
  text: withoutComments(readFileSync(path, 'utf8')),
}))

test('every file imports only what its place allows', () => {
  expect(files.flatMap(({ path, text }) => importsOf(path, text).flatMap((found) => faultOf(path, found)))).toEqual([])
})

test('every import rule names existing places', () => {
  const named = [
    ...Object.entries(rules).flatMap(([place, { ours, types = [] }]) => [place, ...ours, ...types]),
    ...forAll,
    ...words.flatMap(({ only }) => only),
  ]

  expect([...new Set(named)].filter((place) => !existsSync(join('src', place)))).toEqual([])
})

test('no file imports itself through other files, not even for types', () => {
  expect(circlesOf(importGraph(tree, (path) => path))).toEqual([])
})

test('the folders of grid/ import in one direction, even for types', () => {
  const inGrid = files.filter(({ path }) => path.startsWith('grid/'))

  expect(circlesOf(importGraph(inGrid, dirname))).toEqual([])
})

test('only store/driver/ loads the database client', () => {
  const loaded = files.filter(({ path, text }) =>
    importsOf(path, text).some(({ target, isType }) => !isType && /^(@libsql\/|libsql$)/.test(target))
  )

  expect(loaded.filter(({ path }) => !isIn(path, 'store/driver/')).map(({ path }) => path)).toEqual([])
})

test.each(words)('$word occurs only in its place: $why', ({ word, only }) => {
  const elsewhere = files.filter(({ path }) => !only.some((place) => isIn(path, place)))

  expect(elsewhere.filter(({ text }) => word.test(text)).map(({ path }) => path)).toEqual([])
})

// Closing the file in the process that has locked it releases the lock. `store/backup/` only opens copies.
test('only the database file, its disk, its copies, the command line and client programs use node:fs', () => {
  const users = files.filter(({ path, text }) => importsOf(path, text).some(({ target }) => /^node:fs/.test(target)))

  const exempt = ['cli/', 'clients/', 'features/archives/store/', 'store/backup/', ...featureCommands]
  expect(users.map(({ path }) => path).filter((path) => !exempt.some((place) => isIn(path, place)))).toEqual(
    ['disk-space', 'file-lock', 'local-file', 'previous-file'].map((name) => `store/driver/${name}.ts`),
  )
})

test('a send reaches few files: its steps, core concerns, and the statements that they create', () => {
  const steps = closureOf(['grid/send/send.ts', 'grid/send/concerns.ts'])
  const texts = files.filter(({ path }) => steps.includes(path)).map(({ text }) => text)
  const tables = new Set(texts.flatMap(changedTables))

  // `sendMessage` adds guardrails and approvals to a send, and its callers add Slack, asks and choices.
  expect(steps.filter((path) => /approvals|guard|held|slack|remote|conversations/.test(path))).toEqual([])
  expect(sizeOf(steps)).toSatisfy(isAtMost(40, 2_100))
  expect([...tables].sort()).toEqual(
    ['agents', 'fanOut', 'leases', 'limits', 'messages', 'parts', 'receipts', 'spentTokens', 'tasks', 'timedLeases']
      .concat('turns', 'uploads', 'usage'),
  )
  expect(sizeOf(closureOf([...steps, ...filesOfTables(tables)]))).toSatisfy(isAtMost(60, 5_060))
})

interface Import {
  /** A path below `src`, or a package name. */
  target: string
  isOurs: boolean
  isType: boolean
}

function importsOf(path: string, text: string): Import[] {
  const statement =
    /^\s*(?:import|export)\s+(type\s+)?(?:[\w*{][^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm
  return [...text.matchAll(statement)].map(([, type, from, dynamic]) => {
    const name = from ?? dynamic
    const isOurs = name.startsWith('.')
    return { target: isOurs ? normalize(join(dirname(path), name)) : name, isOurs, isType: type !== undefined }
  })
}

function faultOf(path: string, { target, isOurs, isType }: Import): string[] {
  const place = placeOf(path)
  if (place === undefined) return [`${path} has no rule: add its place to the table`]
  const { ours, types = [], packages = [] } = rules[place]

  if (!isOurs) {
    const isAllowed = target.startsWith('node:') ||
      packages.some((name) => target === name || target.startsWith(`${name}/`))
    return isAllowed ? [] : [`${path} may not import ${target}`]
  }
  const ownFolder = featureFolders.find((folder) => isIn(path, folder)) ??
    (path.includes('/') ? `${path.split('/')[0]}/` : path)
  if ([...ours, ownFolder].some((place) => isIn(target, place))) return []
  if (![...types, ...forAll].some((place) => isIn(target, place))) return [`${path} may not import ${target}`]
  return isType ? [] : [`${path} may import ${target} only as a type`]
}

/** Returns the most specific place with a rule for a path. */
function placeOf(path: string): string | undefined {
  return Object.keys(rules).filter((place) => isIn(path, place)).sort((a, b) => b.length - a.length)[0]
}

/** Returns the files in `src` that these files reach by static imports, excluding types. */
function closureOf(paths: string[]): string[] {
  const found = new Set(paths)
  for (const path of found) {
    const { text } = files.find((file) => file.path === path)!
    for (const { target, isOurs, isType } of importsOf(path, text)) if (isOurs && !isType) found.add(target)
  }
  return [...found]
}

interface Size {
  files: number
  lines: number
}

/** Counts lines of code, without blank lines and comments. */
function sizeOf(paths: string[]): Size {
  const isCode = (line: string) => !/^\s*($|\/\/|\/\*|\*)/.test(line)
  const lines = paths.map((path) => readFileSync(join('src', path), 'utf8').split('\n').filter(isCode).length)
  return { files: paths.length, lines: lines.reduce((sum, n) => sum + n, 0) }
}

const isAtMost = (files: number, lines: number) => (size: Size) => size.files <= files && size.lines <= lines

/**
 * Returns the names by which a text creates statements: `change.turns`, `change: { turns }`, `{ turns } =
 * account.change`.
 */
function changedTables(text: string): string[] {
  const uses = /\bchange\.(\w+)|\bchange: \{ ([\w, ]+) \}|\{ ([\w, ]+) \} = (?:\w+\.)?change\b(?!\.)/g
  return [...text.matchAll(uses)].flatMap(([, one, inner, outer]) => (one ?? inner ?? outer).split(', '))
}

function filesOfTables(names: Set<string>): string[] {
  const { text } = files.find(({ path }) => path === 'store/account-tables.ts')!
  const imported = [...text.matchAll(/^import \{ ([\w, ]+) \} from '\.(\/account\/[\w-]+\.ts)'/gm)]
  return imported.filter(([, tables]) => tables.split(', ').some((name) => names.has(name)))
    .map(([, , file]) => `store${file}`)
}

/** Maps each place to its imports. `placeOf` returns the file itself or its folder. */
function importGraph(sources: { path: string; text: string }[], placeOf: (path: string) => string) {
  const graph = new Map<string, Set<string>>()
  for (const { path, text } of sources) {
    const targets = graph.get(placeOf(path)) ?? new Set()
    for (const { target } of importsOf(path, text)) if (placeOf(target) !== placeOf(path)) targets.add(placeOf(target))
    graph.set(placeOf(path), targets)
  }
  return graph
}

/** Returns the groups of files that import each other, directly or indirectly (Tarjan's algorithm). */
function circlesOf(targets: ReadonlyMap<string, Iterable<string>>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  function visit(path: string): void {
    order.set(path, order.size)
    lowest.set(path, order.get(path)!)
    stack.push(path)
    for (const target of targets.get(path)!) {
      if (!targets.has(target)) continue
      if (!order.has(target)) visit(target)
      if (stack.includes(target)) lowest.set(path, Math.min(lowest.get(path)!, lowest.get(target)!))
    }
    if (lowest.get(path) !== order.get(path)) return
    const circle = stack.splice(stack.indexOf(path))
    if (circle.length > 1) circles.push(circle.sort())
  }
  for (const path of targets.keys()) if (!order.has(path)) visit(path)
  return circles
}

function isIn(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place
}

function sourceFolders(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return sourceFiles(path)
    return /\.tsx?$/.test(entry.name) ? [path] : []
  })
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/ .*$/gm, '$1')
}
