/**
 * `npm run dev`: serves a grid with example data in `data/`, restarts it on changes, and prints an MCP configuration.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { readConfig } from '../src/config.ts'
import { runtimeCommand } from './runtime.ts'

const keysFile = 'data/dev-keys.json'

/** The keys, by the name of the MCP server in the configuration. */
type Keys = Record<'alice' | 'bob' | 'admin', string>

const env = { DATABASE_URL: 'file:./data/dev.db', ...process.env }

printConfiguration(existsSync(keysFile) ? JSON.parse(readFileSync(keysFile, 'utf8')) : seed())
serve()

/** Create the account Acme with @alice and @bob. The keys are stored in `data/`, which git ignores. */
function seed(): Keys {
  const acme = command('create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example', '--new')
  const inAcme = ['--account', acme.account_id]
  const alice = command('create-agent', ...inAcme, '--alias', 'alice', '--description', 'Asks questions')
  const bob = command('create-agent', ...inAcme, '--alias', 'bob', '--description', 'Answers them')

  const keys = { alice: alice.api_key, bob: bob.api_key, admin: acme.admin_key }
  mkdirSync('data', { recursive: true, mode: 0o700 })
  writeFileSync(keysFile, JSON.stringify(keys, null, 2), { mode: 0o600 })
  return keys
}

function command(...words: string[]): Record<string, string> {
  const [node, ...args] = [...runtimeCommand('node'), 'src/main.ts', ...words, '--json']
  const { stdout, stderr } = spawnSync(node, args, { env, encoding: 'utf8' })
  const result = JSON.parse(stdout || JSON.stringify({ error: { message: stderr } }))
  if (!result.error) return result
  throw new Error(`Seeding failed at ${words[0]}: ${result.error.message} To start over, delete data/dev.db*.`)
}

function printConfiguration(keys: Keys): void {
  const url = `${readConfig(env).appUrl}/mcp/v1/grid`
  const entries = Object.entries(keys).map(([name, key]) => [
    name,
    { type: 'http', url, headers: { Authorization: `Bearer ${key}` } },
  ])
  console.log('The account Acme has @alice and @bob. MCP configuration:\n')
  console.log(`${JSON.stringify({ mcpServers: Object.fromEntries(entries) }, null, 2)}\n`)
}

function serve(): void {
  const child = spawn(process.execPath, ['--watch', '--import', 'tsx', 'src/main.ts', 'serve'], {
    stdio: 'inherit',
    env: { LOG_LEVEL: 'debug', ...env },
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 0))
}
