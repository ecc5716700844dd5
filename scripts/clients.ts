/** `npm run clients`: tests the whole login with MCP clients from npm, each as an admin and as an agent. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { hasBrowser } from '../test/support/chromium.ts'
import { fakeXdgOpen } from '../test/support/fake-xdg-open.ts'
import { createClientHome } from './clients/client-process.ts'
import { type McpClient, mcpClients } from './clients/mcp-clients.ts'
import { type Environment, identities, type Identity, openEnvironment } from './clients/environment.ts'

const usage = `npm run clients -- [CLIENT ...] [--folder FOLDER]

  CLIENT    ${Object.keys(mcpClients).join(', ')}; all of them by default
  --folder  where they are installed and kept for the next run; a temporary folder by default (1.3 GB for all)`

interface Outcome {
  client: string
  identity: string
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

  const root = folder === undefined ? mkdtempSync(join(tmpdir(), 'agent-grid-clients-')) : resolve(folder)
  const environment = await openEnvironment()
  try {
    const outcomes: Outcome[] = []
    for (const name of names) outcomes.push(...await testClient(environment, name, root))
    console.table(outcomes)
    if (outcomes.some(({ outcome }) => outcome.startsWith('FAILED'))) process.exitCode = 1
  } finally {
    await environment.close()
    if (folder === undefined) rmSync(root, { recursive: true, force: true })
  }
}

async function testClient(environment: Environment, name: string, root: string): Promise<Outcome[]> {
  const client = mcpClients[name]
  console.log(`${name}: installing ${client.packages.join(' and ')}`)
  const installError = install(join(root, name), client.packages)
  if (installError) return [{ client: name, identity: '–', outcome: `skipped: installation failed (${installError})` }]
  const outcomes: Outcome[] = []
  for (const identity of identities) {
    console.log(`${name}: ${identity.name}`)
    const outcome = await testLogin(environment, client, join(root, name), identity).catch((error) => {
      console.error(error)
      return `FAILED: ${String(error.message).slice(0, 100)}`
    })
    outcomes.push({ client: name, identity: identity.name, outcome })
  }
  return outcomes
}

/** Returns the error if the installation fails. Install scripts are not run: the packages contain complete programs. */
function install(folder: string, packages: string[]): string | undefined {
  if (existsSync(join(folder, 'node_modules'))) return undefined
  mkdirSync(folder, { recursive: true })
  const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...packages]
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim().split('\n').find((line) => line.includes('error')) ?? `npm: ${status}`
}

async function testLogin(
  environment: Environment,
  client: McpClient,
  folder: string,
  identity: Identity,
): Promise<string> {
  const home = mkdtempSync(join(folder, 'home-'))
  const browser = await environment.browser()
  const visits = new Map<string, Promise<unknown>>()
  const visit = (url: string) => {
    if (visits.has(url)) return
    visits.set(url, environment.allow(browser, url, identity).catch((error) => console.error(error)))
  }
  const xdgOpen = await fakeXdgOpen(join(home, 'bin'), visit)
  environment.reset()
  try {
    const modules = join(folder, 'node_modules')
    await client.drive(createClientHome(home, xdgOpen.folder), modules, environment.url, identity, visit)
    const answered = environment.answeredMethods()
    const missing = ['tools/list', `tools/call ${identity.tool}`].filter((method) => !answered.includes(method))
    if (missing.length > 0) throw new Error(`the grid did not answer ${missing.join(', ')}, only ${answered}`)
    return 'logged in, listed and called'
  } finally {
    await xdgOpen.close()
    await browser.close()
    rmSync(home, { recursive: true, force: true })
  }
}

await main()
