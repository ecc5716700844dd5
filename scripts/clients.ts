/** `npm run clients`: MCP clients from npm through the whole login, each as admin and as an agent. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { hasBrowser } from '../test/support/chromium.ts'
import { opener } from '../test/support/opener.ts'
import { homeAt } from './clients/program.ts'
import { type Program, programs } from './clients/programs.ts'
import { entries, type Entry, openStage, type Stage } from './clients/stage.ts'

const usage = `npm run clients -- [CLIENT ...] [--folder FOLDER]

  CLIENT    ${Object.keys(programs).join(', ')}; all of them by default
  --folder  where they are installed, and kept for the next run; by default a temporary folder (1.3 GB for all)`

/** One row of the table. */
interface Outcome {
  client: string
  entry: string
  outcome: string
}

async function main(): Promise<void> {
  const { values: { help, folder }, positionals } = parseArgs({
    allowPositionals: true,
    options: { folder: { type: 'string' }, help: { type: 'boolean' } },
  })
  const names = positionals.length > 0 ? positionals : Object.keys(programs)
  if (help || names.some((name) => !Object.hasOwn(programs, name))) return console.log(usage)
  if (!hasBrowser) throw new Error('The person needs Chromium: install it, or name it in CHROMIUM.')

  const place = folder === undefined ? mkdtempSync(join(tmpdir(), 'agent-grid-clients-')) : resolve(folder)
  const stage = await openStage()
  try {
    const outcomes: Outcome[] = []
    for (const name of names) outcomes.push(...await outcomesOf(stage, name, place))
    console.table(outcomes)
    if (outcomes.some(({ outcome }) => outcome.startsWith('FAILED'))) process.exitCode = 1
  } finally {
    await stage.close()
    if (folder === undefined) rmSync(place, { recursive: true, force: true })
  }
}

async function outcomesOf(stage: Stage, client: string, place: string): Promise<Outcome[]> {
  const program = programs[client]
  console.log(`${client}: installing ${program.packages.join(' and ')}`)
  const fault = install(join(place, client), program.packages)
  if (fault) return [{ client, entry: '–', outcome: `skipped: it does not install (${fault})` }]
  const outcomes: Outcome[] = []
  for (const entry of entries) {
    console.log(`${client}: ${entry.name}`)
    const outcome = await outcomeOf(stage, program, join(place, client), entry).catch((error) => {
      console.error(error)
      return `FAILED: ${String(error.message).slice(0, 100)}`
    })
    outcomes.push({ client, entry: entry.name, outcome })
  }
  return outcomes
}

/** Resolves to why not, if it does not install. Scripts of packages are not run: these clients bring whole programs. */
function install(folder: string, packages: string[]): string | undefined {
  if (existsSync(join(folder, 'node_modules'))) return undefined
  mkdirSync(folder, { recursive: true })
  const words = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...packages]
  const { status, stderr } = spawnSync('npm', words, { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim().split('\n').find((line) => line.includes('error')) ?? `npm: ${status}`
}

async function outcomeOf(stage: Stage, program: Program, folder: string, entry: Entry): Promise<string> {
  const at = mkdtempSync(join(folder, 'home-'))
  const browser = await stage.browser()
  const visits = new Map<string, Promise<unknown>>()
  const visit = (url: string) => {
    if (!visits.has(url)) visits.set(url, stage.allow(browser, url, entry).catch((error) => console.error(error)))
  }
  const opens = await opener(join(at, 'bin'), visit)
  stage.forget()
  try {
    await program.drive(homeAt(at, opens.folder), join(folder, 'node_modules'), stage.url, entry, visit)
    const heard = stage.heard()
    const missing = ['tools/list', `tools/call ${entry.tool}`].filter((method) => !heard.includes(method))
    if (missing.length > 0) throw new Error(`the grid never answered ${missing.join(', ')}, only ${heard}`)
    return 'logged in, listed and called'
  } finally {
    await opens.close()
    await browser.close()
    rmSync(at, { recursive: true, force: true })
  }
}

await main()
