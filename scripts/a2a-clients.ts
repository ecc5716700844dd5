/**
 * `npm run lab -- a2a-clients`: A2A frameworks call an agent on the grid with only its URL and a key. The agent is an
 * ordinary MCP client. Each framework is installed from npm, together with a suitable Node version.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { updateAgent } from '../src/grid/agents/agent-settings.ts'
import { startResponder } from '../test/support/responder.ts'
import { liveGrid } from '../test/support/server.ts'
import { faultsOf, type Framework, frameworks, runDriver } from './a2a-clients/frameworks.ts'
import { installNode, installPackages } from './run-program.ts'

const usage = `npm run lab -- a2a-clients [FRAMEWORK ...] [--folder FOLDER]

  FRAMEWORK  ${Object.keys(frameworks).join(', ')}; all of them by default
  --folder   where they are installed and kept for the next run; a temporary folder by default (600 MB for all)`

async function main(): Promise<void> {
  const { values: { help, folder }, positionals } = parseArgs({
    allowPositionals: true,
    options: { folder: { type: 'string' }, help: { type: 'boolean' } },
  })
  const names = positionals.length > 0 ? positionals : Object.keys(frameworks)
  if (help || names.some((name) => !Object.hasOwn(frameworks, name))) return console.log(usage)

  const temporary = mkdtempSync(join(tmpdir(), 'agent-grid-a2a-clients-'))
  const root = folder === undefined ? temporary : resolve(folder)
  const grid = await liveGrid()
  const responder = await startResponder({ url: grid.url, key: grid.bob.key })
  try {
    // Most frameworks fetch the card without the key, so @bob is public. Few poll tasks, so calls wait for the answer.
    await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public', callersWait: 'yes' })
    const node = installNode(join(root, 'node'))
    const rows = []
    for (const name of names) {
      rows.push(await testFramework(name, node, root, `${grid.url}/a2a/v1/agents/bob/`, grid.alice.key))
    }
    console.table(rows)
    for (const fault of responder.faults) console.error('The agent failed:', fault)
    if (rows.some(({ outcome }) => outcome !== 'ok') || responder.faults.length > 0) process.exitCode = 1
  } finally {
    await responder.stop()
    await grid.close()
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
  }
}

interface Row {
  framework: string
  version: string
  turn: string
  outcome: string
}

/** Tests one framework. An installation failure counts as a failed test. */
async function testFramework(name: string, node: string, root: string, url: string, key: string): Promise<Row> {
  const framework: Framework = frameworks[name]
  const [main] = framework.packages
  const folder = join(root, framework.driver)
  const row = { framework: `${main} (${name})`, version: '–', turn: framework.turn ?? '–' }
  try {
    installPackages(folder, framework.packages, node)
    row.version = JSON.parse(readFileSync(join(folder, 'node_modules', main, 'package.json'), 'utf8')).version
    for (const file of [`${framework.driver}.mjs`, 'driver.mjs']) {
      cpSync(join(import.meta.dirname!, 'a2a-clients', file), join(folder, file))
    }
    const faults = faultsOf(
      framework,
      await runDriver(node, join(folder, `${framework.driver}.mjs`), framework, { url, key }),
    )
    for (const fault of faults) console.error(`${name}: ${fault}`)
    return { ...row, outcome: faults.length === 0 ? 'ok' : 'FAILED' }
  } catch (error) {
    console.error(`${name}:`, error)
    return { ...row, outcome: 'FAILED' }
  }
}

await main()
