/**
 * `npm run lab -- connected`: connects the installed coding clients to a temporary grid. Each client lists the
 * configuration that it has read. The program sends and reads messages, and then disconnects the clients. Prints a
 * table. `--program FOLDER` uses the client program of another build, `--grid FOLDER` another build's grid. FOLDER is a
 * checkout in which "npm run build" has run, or an installed package. See docs/clients.md and docs/stability.md.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { codexHooks } from '../src/cli/examine-clients.ts'
import { liveGrid } from '../test/support/server.ts'
import { testHome } from '../test/support/home.ts'
import { build } from './build.js'
import { ended, outputOf } from './run-program.ts'
import { freePort } from '../src/lib/free-port.ts'
import { waitFor } from '../test/support/wait-for.ts'

const { values: { programs, program: ofProgram, grid: ofGrid } } = parseArgs({
  options: { programs: { type: 'string' }, program: { type: 'string' }, grid: { type: 'string' } },
})

/** The arguments that add another MCP server to a client. Each client lists its servers with `mcp list`. */
const clients: Record<string, string[]> = {
  claude: ['mcp', 'add', '-s', 'user', 'other', '--', 'npx', 'other'],
  codex: ['mcp', 'add', 'other', '--', 'npx', 'other'],
  opencode: ['mcp', 'add', 'other', '--url', 'http://127.0.0.1:9/mcp'],
  gemini: ['mcp', 'add', '-s', 'user', 'other', 'npx', 'other'],
  copilot: ['mcp', 'add', 'other', '--', 'npx', 'other'],
}

/** The pattern excludes the test's home folder, because its name appears in warnings. */
const entry = /agent-grid(?!-home)/

const folders = programs === undefined
  ? []
  : readdirSync(programs).map((name) => join(resolve(programs), name, 'node_modules/.bin'))
const path = [...folders.filter(existsSync), process.env.PATH].join(delimiter)
const own = dirname(await build('src/main.ts'))
const program = join(builtIn(ofProgram), 'client.js')
const grid = ofGrid === undefined ? await liveGrid() : await gridOf(join(builtIn(ofGrid), 'main.js'))
const rows: string[][] = [[
  'client',
  'version',
  'lists',
  'says',
  'hooks',
  'start of a session',
  'sends and reads',
  'second connect',
  'after disconnect',
  'a server added meanwhile',
]]
for (const [client, words] of Object.entries(clients)) rows.push(await row(client, words))
await grid.close()
const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)))
for (const cells of rows) console.log(cells.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd())

async function row(client: string, addOther: string[]): Promise<string[]> {
  const home = testHome()
  const folder = join(home.folder, 'work')
  mkdirSync(folder)
  // Gemini CLI ignores the configuration in an untrusted folder.
  const env = { ...home.env, PATH: path, AGENT_GRID_KEY: grid.bob.key, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
  const run = (command: string, words: string[]) => output(command, words, folder, env)
  const connect = ['connect', client, '--url', grid.url, '--yes']
  try {
    const version = await run(client, ['--version'])
    if (version === undefined) return [client, 'not installed', ...Array(8).fill('')]
    await run(process.execPath, [program, ...connect])
    const listed = plain(await run(client, ['mcp', 'list']) ?? '')
    const line = listed.split('\n').find((line) => entry.test(line))
    const hooks = client === 'codex' ? await hooksOfCodex(folder, env) : ''
    const start = await run('sh', ['-c', startOf(client)]) ?? ''
    const sent = await run(process.execPath, [program, 'send', '@bob', 'to myself', '--json']) ?? ''
    await run(process.execPath, [program, 'send', '@alice', 'hello'])
    const alice = { ...env, AGENT_GRID_KEY: grid.alice.key, AGENT_GRID_URL: grid.url, AGENT_GRID_ALIAS: '@alice' }
    const read = await output(process.execPath, [program, 'read', '--json'], folder, alice) ?? ''
    const again = await run(process.execPath, [program, ...connect]) ?? ''
    // Makes the client rewrite its file in its own format.
    await run(client, addOther)
    await run(process.execPath, [program, 'disconnect', client, '--yes'])
    const after = plain(await run(client, ['mcp', 'list']) ?? '')
    const left = Object.entries(home.tree()).filter(([, text]) =>
      text.includes(grid.url) && text.includes('mcp/v1/grid')
    )
    const kept = left.map(([path]) => path).filter((path) => !/cache|logs?\b|backup|\.db/.test(path))
    const word = line?.match(/connected|enabled|disabled/i)?.[0].toLowerCase() ?? ''
    return [
      client,
      version.match(/\d+\.\d+\.\d+/)?.[0] ?? '',
      line === undefined ? 'no' : 'yes',
      word,
      hooks,
      start.match(/You are @bob[^.]*/)?.[0] ?? (start.trim() || 'none'),
      sent.includes('self_message') && read.includes('hello') ? 'yes' : `NO ${sent} ${read}`,
      again.includes('Nothing changed') ? 'no change' : 'CHANGED',
      kept.length > 0 || entry.test(after) ? `LEFT ${kept.join(' ')}` : 'nothing left',
      after.includes('other') ? 'stays' : 'GONE',
    ]
  } finally {
    home.remove()
  }
}

/** Returns a shell line that runs a client's hook for the start of a session. */
function startOf(client: string): string {
  const input = JSON.stringify({ session_id: 's1', hook_event_name: 'SessionStart' })
  const line = `echo '${input}' | ${process.execPath} ${program} hook ${client} start --as @bob --url ${grid.url}`
  return client === 'claude' ? `export CLAUDE_CODE_ENTRYPOINT=cli; ${line}` : line
}

/** The folder of a build, by default of the current build. */
function builtIn(folder: string | undefined): string {
  if (folder === undefined) return own
  const found = ['dist/src', 'src'].map((path) => join(resolve(folder), path)).find((path) =>
    existsSync(join(path, 'client.js'))
  )
  if (!found) throw new Error(`${folder} has no build: run "npm run build" there.`)
  return found
}

/** Starts a grid of another build, with alice and bob. */
async function gridOf(main: string) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-connected-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...process.env,
    DATABASE_URL: `file:${join(folder, 'grid.db')}`,
    PORT: `${port}`,
    BASE_URL: url,
    LOG_LEVEL: 'error',
  }
  const run = (...words: string[]) => outputOf(spawn(process.execPath, [main, ...words], { env, stdio: 'pipe' }))
  const made = await run('create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example', '--new', '--json')
  const account = JSON.parse(made).account_id as string
  const agent = async (alias: string) => {
    const text = await run('create-agent', '--account', account, '--alias', alias, '--json')
    return { key: text.match(/grid_agt_[0-9A-Za-z]+/)![0] }
  }
  const [alice, bob] = [await agent('alice'), await agent('bob')]
  const server = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  await waitFor('the grid', () => fetch(`${url}/readyz`).then(({ ok }) => ok, () => false))
  const close = async () => {
    server.kill()
    await once(server, 'exit')
    rmSync(folder, { recursive: true })
  }
  return { url, alice, bob, close }
}

/** Returns a program's output, or undefined if there is no program with that name. */
async function output(
  command: string,
  words: string[],
  cwd: string,
  env: Record<string, string>,
): Promise<string | undefined> {
  const child = spawn(command, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 })
  return (await ended(child).catch(() => undefined))?.output
}

/** Lists the hooks that Codex has read, and whether it trusts them. */
async function hooksOfCodex(folder: string, env: Record<string, string>): Promise<string> {
  const hooks = await codexHooks(folder, env)
  return hooks?.map(({ eventName, trustStatus }) => `${eventName} (${trustStatus})`).join(', ') ?? 'no answer'
}

/** Removes colours. */
function plain(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/\x1b\[[0-9;]*m/g, '')
}
