/**
 * `npm run dev`: serves the example grid of `world/` in `data/`, restarts on changes, and prints how to sign in and an MCP
 * configuration. Its agents go on talking. `npm run dev -- FOLDER` keeps it in another folder; an empty one begins anew.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { readConfig } from '../src/config.ts'
import { emailOf, password } from './world/cast.ts'
import { talkOn } from './world/live.ts'
import { seedWorld, unreadPerInbox } from './world/world.ts'

const folder = process.argv[2] ?? 'data'
const keysFile = join(folder, 'dev-keys.json')

/** The keys, by the name of the MCP server in the configuration. */
type Keys = Record<string, string>

const env = {
  DATABASE_URL: `file:${join(folder, 'dev.db')}`,
  UNREAD_PER_INBOX: String(unreadPerInbox),
  ...process.env,
}

const keys: Keys = existsSync(keysFile) ? JSON.parse(readFileSync(keysFile, 'utf8')) : await seed()
print(keys)
serve(keys)

/** The keys are stored beside the database. Git ignores `data/`. */
async function seed(): Promise<Keys> {
  console.log('Making the example grid takes about ten seconds.')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { keys: ofAgents, adminKey: admin } = await seedWorld(readConfig(env)).catch((error) => {
    throw new Error(`Seeding failed. To start over, delete ${folder}/dev.db*.`, { cause: error })
  })
  const keys = { ...ofAgents, admin }
  writeFileSync(keysFile, JSON.stringify(keys, null, 2), { mode: 0o600 })
  return keys
}

function print({ planner, builder, admin }: Keys): void {
  const { appUrl } = readConfig(env)
  const url = `${appUrl}/mcp/v1/grid`
  const entries = Object.entries({ planner, builder, admin }).map(([name, key]) => [
    name,
    { type: 'http', url, headers: { Authorization: `Bearer ${key}` } },
  ])
  console.log(`${appUrl}/sign-in: ${emailOf('olga')} (owner), tomas (admin), mika (member), vera (viewer).`)
  console.log(`The password of all is "${password}". MCP configuration:\n`)
  console.log(`${JSON.stringify({ mcpServers: Object.fromEntries(entries) }, null, 2)}\n`)
}

function serve(keys: Keys): void {
  const child = spawn(process.execPath, ['--watch', '--import', 'tsx', 'src/main.ts', 'serve'], {
    stdio: 'inherit',
    env: { LOG_LEVEL: 'debug', ...env },
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  void talkOn(`http://localhost:${readConfig(env).port}`, keys, new AbortController().signal)
  child.on('exit', (code) => process.exit(code ?? 0))
}
