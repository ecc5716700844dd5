/** The first law: who may import whom, and the words that may stand only in one place. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** What one place may import. An entry ending in `/` is a folder; every place may import from itself and from node. */
interface Rule {
  ours: string[]
  /** As `import type` only. */
  types?: string[]
  packages?: string[]
}

const everyDoor = ['mcp/', 'a2a/', 'rest/', 'oauth/', 'web/']
const door: Rule = {
  ours: ['grid/', 'guardrails/', 'auth/actor.ts', 'store/account.ts', 'wire.ts', 'errors.ts', 'lib/'],
  types: ['auth/bearer.ts', 'deps.ts', 'store/account/'],
  packages: ['hono', 'zod'],
}
const browserDoor: Rule = {
  ours: [...door.ours, 'html/', 'auth/session.ts', 'auth/secrets.ts', 'auth/passwords.ts'],
  types: [...door.types!, 'store/store.ts', 'edge.ts'],
  packages: [...door.packages!, 'oslo'],
}

function grid(types: string[] = []): Rule {
  return {
    ours: ['grid/', 'store/account/', 'guardrails/', 'auth/actor.ts', 'auth/secrets.ts', 'errors.ts', 'lib/'],
    types: ['store/account.ts', 'store/driver/binding.ts', ...types],
  }
}

/** Verbs on what belongs to no account: people, and the accounts they come to. */
function people(): Rule {
  const rule = grid(['store/store.ts', 'store/global/'])
  return { ...rule, ours: [...rule.ours, 'auth/passwords.ts'] }
}

const rules: Record<string, Rule> = {
  'main.ts': { ours: ['cli/'] },
  'cli/': {
    ours: ['app.ts', 'listen.ts', 'config.ts', 'deps.ts', 'log.ts', 'store/', 'worker/', 'grid/', 'errors.ts', 'lib/']
      // Passwords are hashed, and the process's own control token is made, before a verb is called.
      .concat('auth/passwords.ts', 'auth/secrets.ts', 'mail.ts'),
  },
  'app.ts': {
    ours: [...everyDoor, 'auth/', 'edge.ts', 'wire.ts', 'errors.ts', 'lib/'],
    types: ['store/store.ts', 'deps.ts'],
    packages: ['hono'],
  },
  'edge.ts': { ours: ['errors.ts', 'lib/'], types: ['deps.ts', 'listen.ts'], packages: ['hono'] },
  // Signup makes or joins the account it then works in, so these two hand the whole store on to it.
  'mcp/': {
    ...door,
    types: [...door.types!, 'store/store.ts'],
    packages: ['hono', 'zod', '@modelcontextprotocol/server'],
  },
  'rest/': { ...door, types: [...door.types!, 'store/store.ts'] },
  'a2a/': door,
  // Its own rows, of clients, grants and tokens, have their types in the store.
  'oauth/': { ...browserDoor, types: [...browserDoor.types!, 'store/global/'] },
  'web/': browserDoor,
  'worker/': { ours: ['grid/', 'store/', 'auth/actor.ts', 'errors.ts', 'lib/'], types: ['deps.ts'] },
  'grid/': grid(),
  // What the providers are, and how each is configured.
  'guardrails/': { ours: ['errors.ts', 'lib/'], packages: ['zod'] },
  // They make the account they then work in.
  'grid/accounts/signup.ts': grid(['store/store.ts']),
  'grid/accounts/accounts.ts': grid(['store/store.ts']),
  'grid/accounts/claim.ts': people(),
  'grid/accounts/claim-link.ts': people(),
  'grid/people/invitations.ts': people(),
  'grid/people/links.ts': people(),
  'grid/people/email-links.ts': people(),
  'grid/people/own-profile.ts': people(),
  'grid/people/send-email.ts': people(),
  'grid/people/people.ts': people(),
  // Limits count in a table of no account.
  'grid/people/throttle.ts': grid(['store/store.ts', 'store/global/attempts.ts']),
  'grid/send-mail.ts': grid(['store/store.ts', 'deps.ts']),
  // A mail is what deps.mail takes.
  'grid/people/email-templates.ts': grid(['deps.ts']),
  // A person's grants are in several accounts.
  'grid/oauth/grants.ts': grid(['store/store.ts']),
  'grid/oauth/all-grants.ts': grid(['store/store.ts', 'store/global/oauth-ends.ts']),
  'auth/': { ours: ['errors.ts', 'lib/'], types: ['store/', 'deps.ts'], packages: ['hono', 'oslo', 'hash-wasm'] },
  'wire.ts': { ours: ['errors.ts', 'lib/', 'html/error-page.tsx'], types: ['deps.ts'], packages: ['hono', 'zod'] },
  'html/': { ours: ['errors.ts', 'lib/'], packages: ['hono'] },
  'store/': {
    ours: ['../db/schema.ts', '../db/migrations.ts', 'errors.ts', 'lib/'],
    types: ['auth/actor.ts', 'deps.ts'],
    packages: ['drizzle-orm', '@libsql/client', '@libsql/hrana-client'],
  },
  'listen.ts': { ours: [], packages: ['@hono/node-server'] },
  // What leaves over SMTP.
  'mail.ts': { ours: ['lib/'], types: ['deps.ts'], packages: ['nodemailer'] },
  'log.ts': { ours: ['lib/'], types: ['deps.ts'] },
  'config.ts': { ours: ['lib/'], packages: ['zod', 'ipaddr.js'] },
  'deps.ts': { ours: [], types: ['lib/'] },
  'errors.ts': { ours: [] },
  'lib/': { ours: ['errors.ts'], types: ['deps.ts'], packages: ['oslo', 'ipaddr.js', 'secure-json-parse', 'uuid'] },
}

/** Settings are plain data: their type is everybody's. */
const forEverybody = ['config.ts']

/** Words that belong to one place. `only` lists files or folders of `src`; everywhere else the word is a fault. */
const words: { word: RegExp; only: string[]; why: string }[] = [
  { word: /\btransaction\(/, only: [], why: 'there are no interactive transactions: a write is a list of statements' },
  { word: /\bclient\.batch\(/, only: ['store/queue.ts', 'store/driver/local-file.ts'], why: 'writes go through the queue' },
  { word: /\bclient\.migrate\(/, only: ['store/migrate.ts'], why: 'only a migration switches foreign keys off' },
  { word: /\bDate\.now\(|\bnew Date\(\)/, only: ['log.ts', 'cli/'], why: 'deps.now is the only clock' },
  {
    word: /\baccountId\b/,
    // A person's grants are in several accounts.
    only: ['auth/', 'store/', 'oauth/', 'worker/', 'cli/', 'grid/oauth/grants.ts', 'grid/oauth/all-grants.ts'],
    why: 'an AccountStore knows its account',
  },
  {
    word: /\.account\(/,
    only: ['auth/', 'store/', 'worker/', 'cli/']
      .concat('grid/accounts/signup.ts', 'grid/accounts/accounts.ts', 'grid/accounts/claim.ts', 'grid/people/invitations.ts')
      // Whoever ends a grant of their own is in its account for that.
      .concat('grid/oauth/grants.ts'),
    why: 'doors are given their account',
  },
  { word: /\bsql\.raw\(|\bsql\.identifier\(/, only: [], why: 'no text becomes SQL' },
  { word: /\bconsole\./, only: ['log.ts', 'cli/'], why: 'what is logged goes through deps.log' },
  {
    word: /(?<![.\w])fetch\(/,
    // The database driver's own calls go to the operator's database; listen.ts only names its handler so.
    only: ['store/store.ts', 'listen.ts'],
    why: 'deps.safeFetch is the only way out',
  },
  {
    word: /'node:(https?|net|tls|dgram|dns|dns\/promises)'/,
    only: ['lib/safe-fetch.ts', 'lib/safe-connect.ts', 'lib/free-port.ts', 'listen.ts', 'cli/'],
    why: 'deps.safeFetch is the only way out',
  },
  { word: /\bWebSocket\(|\bEventSource\(|\bDeno\.connect/, only: [], why: 'deps.safeFetch is the only way out' },
  { word: /\bnodemailer\b/, only: ['mail.ts'], why: 'mail leaves in one place, whose addresses are checked' },
  { word: /\bprocess\.env\b/, only: ['cli/'], why: 'the environment is read once, into the configuration' },
  { word: /\braw\(|dangerouslySetInnerHTML/, only: ['store/driver/kept-statements.ts'], why: 'pages escape everything' },
]

const files = sourceFiles('src').map((path) => ({
  path: path.slice('src/'.length),
  text: withoutComments(readFileSync(path, 'utf8')),
}))

test('every file imports only what its place may import', () => {
  expect(files.flatMap(({ path, text }) => importsOf(path, text).flatMap((found) => faultOf(path, found)))).toEqual([])
})

test.each(words)('$word stands only where it belongs: $why', ({ word, only }) => {
  const elsewhere = files.filter(({ path }) => !only.some((place) => isIn(path, place)))

  expect(elsewhere.filter(({ text }) => word.test(text)).map(({ path }) => path)).toEqual([])
})

test('node:fs is imported only for the database file and by the command line', () => {
  const users = files.filter(({ path, text }) => importsOf(path, text).some(({ target }) => /^node:fs/.test(target)))

  expect(users.map(({ path }) => path).filter((path) => !isIn(path, 'cli/'))).toEqual(['store/driver/local-file.ts'])
})

test.each([
  ['a2a/endpoint.ts', "import { x } from '../mcp/tool.ts'", 'a2a/endpoint.ts may not import mcp/tool.ts'],
  ['grid/agents/agents.ts', "import { app } from '../app.ts'", 'grid/agents/agents.ts may not import app.ts'],
  ['grid/agents/agents.ts', "import { openStore } from '../store/store.ts'", 'grid/agents/agents.ts may not import store/store.ts'],
  ['rest/signup.ts', "import { eq } from 'drizzle-orm'", 'rest/signup.ts may not import drizzle-orm'],
  ['rest/signup.ts', "const x = await import('@libsql/client')", 'rest/signup.ts may not import @libsql/client'],
  ['mcp/tool.ts', "import { bearer } from '../auth/bearer.ts'", 'mcp/tool.ts may import auth/bearer.ts only as a type'],
  ['mcp/tool.ts', "export { a } from '../web/agents.tsx'", 'mcp/tool.ts may not import web/agents/agents.tsx'],
  ['mcp/tool.ts', "import {\n  a,\n  b,\n} from '../store/queue.ts'", 'mcp/tool.ts may not import store/queue.ts'],
  ['lib/new.ts', "import '../store/store.ts'", 'lib/new.ts may not import store/store.ts'],
  ['nowhere/new.ts', "import { a } from './b.ts'", 'nowhere/new.ts has no rule: add its place to the table'],
])('the law is broken by %s with %s', (path, text, fault) => {
  expect(importsOf(path, text).flatMap((found) => faultOf(path, found))).toEqual([fault])
})

interface Import {
  /** A path below `src`, or the name of a package. */
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
  const place = Object.keys(rules).filter((place) => isIn(path, place)).sort((a, b) => b.length - a.length)[0]
  if (place === undefined) return [`${path} has no rule: add its place to the table`]
  const { ours, types = [], packages = [] } = rules[place]

  if (!isOurs) {
    const isAllowed = target.startsWith('node:') ||
      packages.some((name) => target === name || target.startsWith(`${name}/`))
    return isAllowed ? [] : [`${path} may not import ${target}`]
  }
  const ownFolder = path.includes('/') ? [`${path.split('/')[0]}/`] : []
  if ([...ours, ...ownFolder].some((place) => isIn(target, place))) return []
  if (![...types, ...forEverybody].some((place) => isIn(target, place))) return [`${path} may not import ${target}`]
  return isType ? [] : [`${path} may import ${target} only as a type`]
}

function isIn(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place
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
