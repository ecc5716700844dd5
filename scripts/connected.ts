/**
 * `npm run lab -- connected`: connects the coding clients that are installed to a grid of its own, lets each of them
 * list what it has read from its configuration, and disconnects them. Prints a table. See docs/clients.md.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { codexHooks } from '../src/cli/examine-clients.ts'
import { liveGrid } from '../test/support/server.ts'
import { testHome } from '../test/support/home.ts'
import { build } from './build.js'
import { ended } from './run-program.ts'

const { values: { programs } } = parseArgs({ options: { programs: { type: 'string' } } })

/** The words with which a client adds another MCP server. Each lists them with `mcp list`. */
const clients: Record<string, string[]> = {
  claude: ['mcp', 'add', '-s', 'user', 'other', '--', 'npx', 'other'],
  codex: ['mcp', 'add', 'other', '--', 'npx', 'other'],
  opencode: ['mcp', 'add', 'other', '--url', 'http://127.0.0.1:9/mcp'],
  gemini: ['mcp', 'add', '-s', 'user', 'other', 'npx', 'other'],
  copilot: ['mcp', 'add', 'other', '--', 'npx', 'other'],
}

/** The home folder of a test has a similar name, which warnings have. */
const entry = /agent-grid(?!-home)/

const folders = programs === undefined
  ? []
  : readdirSync(programs).map((name) => join(resolve(programs), name, 'node_modules/.bin'))
const path = [...folders.filter(existsSync), process.env.PATH].join(delimiter)
const program = (await build('src/main.ts')).replace(/main\.js$/, 'client.js')
const grid = await liveGrid()
const rows: string[][] = [[
  'client',
  'version',
  'lists',
  'says',
  'hooks',
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
  // Gemini CLI reads no configuration in a folder that its user does not trust.
  const env = { ...home.env, PATH: path, AGENT_GRID_KEY: grid.bob.key, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
  const run = (command: string, words: string[]) => output(command, words, folder, env)
  const connect = ['connect', client, '--url', grid.url, '--yes']
  try {
    const version = await run(client, ['--version'])
    if (version === undefined) return [client, 'not installed', '', '', '', '', '', '']
    await run(process.execPath, [program, ...connect])
    const listed = plain(await run(client, ['mcp', 'list']) ?? '')
    const line = listed.split('\n').find((line) => entry.test(line))
    const hooks = client === 'codex' ? await hooksOfCodex(folder, env) : ''
    const again = await run(process.execPath, [program, ...connect]) ?? ''
    // The client writes its file again in its own way.
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
      again.includes('Nothing changed') ? 'no change' : 'CHANGED',
      kept.length > 0 || entry.test(after) ? `LEFT ${kept.join(' ')}` : 'nothing left',
      after.includes('other') ? 'stays' : 'GONE',
    ]
  } finally {
    home.remove()
  }
}

/** What a program prints; undefined if there is none of that name. */
async function output(
  command: string,
  words: string[],
  cwd: string,
  env: Record<string, string>,
): Promise<string | undefined> {
  const child = spawn(command, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 })
  return (await ended(child).catch(() => undefined))?.output
}

/** The hooks that Codex has read, and whether it trusts them. */
async function hooksOfCodex(folder: string, env: Record<string, string>): Promise<string> {
  const hooks = await codexHooks(folder, env)
  return hooks?.map(({ eventName, trustStatus }) => `${eventName} (${trustStatus})`).join(', ') ?? 'no answer'
}

/** Without colours. */
function plain(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/\x1b\[[0-9;]*m/g, '')
}
