/**
 * `npm run clients`: follows a newcomer from the clone to the first message with curl, and to the first reply with MCP
 * clients from npm. Each client connects with an agent key, with OAuth as an agent, and with OAuth as an admin.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { hasBrowser } from '../test/support/chromium.ts'
import { fakeXdgOpen } from '../test/support/fake-xdg-open.ts'
import { gridPath } from '../test/support/mcp.ts'
import { createClientHome, Steps } from './clients/client-process.ts'
import type { Next, ToolCall } from './clients/fake-model.ts'
import { type McpClient, mcpClients } from './clients/mcp-clients.ts'
import { answerTo, type NewcomersGrid, startAsNewcomer } from './clients/newcomer.ts'
import { installPackages } from './run-program.ts'

const usage = `npm run clients -- [CLIENT ...] [--folder FOLDER]

  CLIENT    ${Object.keys(mcpClients).join(', ')}; all of them by default
  --folder  where they are installed and kept for the next run; a temporary folder by default (1.6 GB for all)`

/** A method of connecting a client, and the calls that the client makes. */
interface Way {
  name: string
  /** The entry to choose on the consent page. If undefined, the client uses @alice's key. */
  entry?: string
  /** Set if the result depends on the model. */
  isOfModels?: true
  /** Called before the client starts. */
  prepare?(grid: NewcomersGrid): Promise<void>
  next(client: string): Next
  /** Returns the result. Fails if the output that the model received has a fault, and names the fault. */
  outcome(shown: string[], client: string): string
}

const greeting = (way: string, client: string) => `a greeting from ${client} with ${way}`

const inOrder = (calls: ToolCall[]): Next => (shown) => calls[shown.length]

/** @alice writes to @bob, waits for his answer, and reads it. */
function conversation(name: string): Pick<Way, 'next' | 'outcome'> {
  return {
    next: (client) =>
      inOrder([
        { tool: 'send_message', arguments: { to: '@bob', message: greeting(name, client) } },
        { tool: 'read_messages', arguments: { wait_seconds: 30 } },
      ]),
    outcome(shown, client) {
      if (!shown.at(-1)?.includes(answerTo(greeting(name, client)))) throw new Error('the reply was not shown')
      return 'first reply read'
    },
  }
}

/** @alice reads 50 messages of 1,600 characters from @bob, each with a random word, until `has_more` is false. */
function longMessages(): Way {
  let words: string[] = []
  return {
    name: '50 long messages',
    isOfModels: true,
    prepare(grid) {
      words = Array.from({ length: 50 }, () => `word-${randomUUID()}`)
      return grid.sendToAlice(words.map((word) => `${'x'.repeat(800)} ${word} `.padEnd(1_600, 'y')))
    },
    next: () => (shown) =>
      shown.length === 0 || /has_more\W+true/.test(shown.at(-1)!)
        ? { tool: 'read_messages', arguments: {} }
        : undefined,
    outcome(shown) {
      const all = shown.join('\n')
      const times = words.map((word) => all.split(word).length - 1)
      const lengths = `${shown.length} reads of ${shown.map(({ length }) => length).join(', ')} characters`
      if (times.every((count) => count === 1)) return `each shown once, in ${lengths}`
      throw new Error(`${times.filter((count) => count === 1).length} of 50 shown once, in ${lengths}`)
    },
  }
}

const ways: Way[] = [
  { name: 'a key', ...conversation('a key') },
  longMessages(),
  { name: 'OAuth', entry: '@alice', ...conversation('OAuth') },
  {
    name: 'OAuth as @admin',
    entry: '@admin (Acme)',
    next: () => inOrder([{ tool: 'admin_list_agents', arguments: {} }]),
    outcome(shown) {
      if (!shown.at(-1)?.includes('@bob')) throw new Error('the agents were not shown')
      return 'tools called'
    },
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
      rowOf('curl', 'signup', grid.steps.curl, 'first message sent, its link opens'),
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

/** Prints the steps and returns the row of the final table. */
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
    for (const model of way.isOfModels ? client.models ?? [undefined] : [undefined]) {
      const steps = new Steps()
      const outcome = await testWay(grid, name, client, join(root, name), way, model, steps).catch((error) => {
        console.error(error)
        return `FAILED: ${String(error.message).slice(0, 100)}`
      })
      rows.push(rowOf(name, model === undefined ? way.name : `${way.name}, ${model}`, steps, outcome))
    }
  }
  return rows
}

async function testWay(
  grid: NewcomersGrid,
  name: string,
  client: McpClient,
  folder: string,
  way: Way,
  model: string | undefined,
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
      model,
      steps,
      visit,
    }
    await client.connect(session)
    await way.prepare?.(grid)
    const shown = await client.call(session, way.next(name))
    try {
      return way.outcome(shown, name)
    } catch (error) {
      console.error(shown)
      throw error
    }
  } finally {
    await xdgOpen.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
