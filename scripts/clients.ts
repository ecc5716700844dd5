/**
 * `npm run clients`: the whole way of a newcomer, from the clone to the first reply, with curl and with MCP clients from
 * npm, each with an agent key, and with OAuth as an agent and as an admin.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { hasBrowser } from '../test/support/chromium.ts'
import { fakeXdgOpen } from '../test/support/fake-xdg-open.ts'
import { gridPath } from '../test/support/mcp.ts'
import { createClientHome, Steps } from './clients/client-process.ts'
import type { ToolCall } from './clients/fake-model.ts'
import { type McpClient, mcpClients } from './clients/mcp-clients.ts'
import { answerTo, type NewcomersGrid, startAsNewcomer } from './clients/newcomer.ts'
import { installPackages } from './run-program.ts'

const usage = `npm run clients -- [CLIENT ...] [--folder FOLDER]

  CLIENT    ${Object.keys(mcpClients).join(', ')}; all of them by default
  --folder  where they are installed and kept for the next run; a temporary folder by default (1.3 GB for all)`

/** How a client is connected, and what it then does. */
interface Way {
  name: string
  /** The entry on the consent page; undefined: with the key of @alice. */
  entry?: string
  calls(client: string): ToolCall[]
  /** What is wrong with what the model was shown of the last answer; undefined if nothing is. */
  fault(shown: string, client: string): string | undefined
}

const greeting = (way: string, client: string) => `a greeting from ${client} with ${way}`

/** @alice writes to @bob, who answers, and reads the answer. */
function conversation(name: string): Pick<Way, 'calls' | 'fault'> {
  return {
    calls: (client) => [
      { tool: 'send_message', arguments: { to: '@bob', message: greeting(name, client) } },
      { tool: 'read_messages', arguments: { wait_seconds: 30 } },
    ],
    fault(shown, client) {
      if (!shown.includes(answerTo(greeting(name, client)))) return 'the reply was not shown'
      // In the second part of the answer.
      return shown.includes('cursor') ? undefined : 'only the first part of the read was shown'
    },
  }
}

const ways: Way[] = [
  { name: 'a key', ...conversation('a key') },
  { name: 'OAuth', entry: '@alice', ...conversation('OAuth') },
  {
    name: 'OAuth as @admin',
    entry: '@admin (Acme)',
    calls: () => [{ tool: 'admin_list_agents', arguments: {} }],
    fault: (shown) => shown.includes('@bob') ? undefined : 'the agents were not shown',
  },
]

interface Row {
  client: string
  way: string
  steps: number
  seconds: string
  outcome: string
}

async function main(): Promise<void> {
  const { values: { help, folder }, positionals } = parseArgs({
    allowPositionals: true,
    options: { folder: { type: 'string' }, help: { type: 'boolean' } },
  })
  const names = positionals.length > 0 ? positionals : Object.keys(mcpClients)
  if (help || names.some((name) => !Object.hasOwn(mcpClients, name))) return console.log(usage)
  if (!hasBrowser) throw new Error('Chromium is needed: install it, or set CHROMIUM to its path.')

  const temporary = mkdtempSync(join(tmpdir(), 'agent-grid-clients-'))
  const root = folder === undefined ? temporary : resolve(folder)
  try {
    console.log('agent-grid: cloning, installing and starting it')
    const grid = await startAsNewcomer(temporary)
    const rows = [
      rowOf('curl', 'signup', grid.steps.curl, 'first reply read'),
      rowOf('web', 'create-account', grid.steps.account, 'signed in'),
    ]
    try {
      for (const name of names) rows.push(...await testClient(grid, name, root))
    } finally {
      await grid.close()
    }
    console.table(rows)
    if (rows.some(({ outcome }) => outcome.startsWith('FAILED'))) process.exitCode = 1
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The row of the last table. Prints the steps. */
function rowOf(client: string, way: string, steps: Steps, outcome: string): Row {
  console.log(`${client}, ${way}: ${outcome}`)
  for (const { what, seconds } of steps.all) console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${what}`)
  return { client, way, steps: steps.all.length, seconds: steps.seconds.toFixed(1), outcome }
}

async function testClient(grid: NewcomersGrid, name: string, root: string): Promise<Row[]> {
  const client = mcpClients[name]
  try {
    installPackages(join(root, name), client.packages)
  } catch (error) {
    return [rowOf(name, '–', new Steps(), `skipped: installation failed (${(error as Error).message})`)]
  }
  const rows: Row[] = []
  for (const way of ways) {
    const steps = new Steps()
    const outcome = await testWay(grid, name, client, join(root, name), way, steps).catch((error) => {
      console.error(error)
      return `FAILED: ${String(error.message).slice(0, 100)}`
    })
    rows.push(rowOf(name, way.name, steps, outcome))
  }
  return rows
}

async function testWay(
  grid: NewcomersGrid,
  name: string,
  client: McpClient,
  folder: string,
  way: Way,
  steps: Steps,
): Promise<string> {
  const home = mkdtempSync(join(folder, 'home-'))
  const visits = new Map<string, Promise<unknown>>()
  const visit = (url: string) => {
    if (visits.has(url)) return
    visits.set(url, grid.allow(url, way.entry!).catch((error) => console.error(error)))
  }
  const xdgOpen = await fakeXdgOpen(join(home, 'bin'), visit)
  try {
    const session = {
      home: createClientHome(home, xdgOpen.folder),
      modules: join(folder, 'node_modules'),
      baseUrl: grid.url,
      url: new URL(gridPath, grid.url).href,
      key: way.entry === undefined ? grid.key : undefined,
      steps,
      visit,
    }
    await client.connect(session)
    const shown = await client.call(session, way.calls(name))
    const fault = way.fault(shown.at(-1)!, name)
    if (fault) throw new Error(`${fault}: ${JSON.stringify(shown)}`)
    return way.entry?.startsWith('@admin') ? 'tools called' : 'first reply read, both parts shown'
  } finally {
    await xdgOpen.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
