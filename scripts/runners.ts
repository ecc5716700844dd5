/**
 * `npm run lab -- runners [--kills 200] [--clients FOLDER]`: kills agents' runners and their children at every step of
 * their work, lets two runners share an inbox, and runs Claude Code, Codex and opencode with a local model. Prints how
 * many messages were lost or answered twice.
 *
 * See docs/runners.md, "Tried".
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { LeaseRecovery } from '../src/worker/leases.ts'
import { faultOf, killAtSteps, type KilledRun, killSteps } from '../test/support/killed-runners.ts'
import { type LiveGrid, liveGrid } from '../test/support/server.ts'
import { tryClients } from './runners/clients.ts'
import { shareInbox } from './runners/runner-process.ts'

const usage = `npm run lab -- runners [--kills NUMBER] [--lanes NUMBER] [--clients FOLDER]

  --kills    how often a runner or its child is killed; 200 by default, 0 for none
  --lanes    how many agents are killed at the same time; 3 by default
  --clients  a folder with folders in which clients were installed: claude*/, codex/, opencode/`

/** The limits are raised, because these trials do not test them. */
const env = {
  ...{ CALLS_PER_SECOND: '100000', MESSAGES_PER_DAY: '100000000' },
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      ...{ kills: { type: 'string', default: '200' }, lanes: { type: 'string', default: '3' } },
      ...{ clients: { type: 'string' }, help: { type: 'boolean' } },
    },
  })
  if (values.help) return console.log(usage)
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-runners-'))
  const grid = await liveGrid({ env })
  const clock = runClock(grid)
  try {
    const faults = [
      ...Number(values.kills) > 0 ? await kill(grid, folder, Number(values.kills), Number(values.lanes)) : [],
      ...await shareInbox(grid, folder),
      ...values.clients === undefined ? [] : await slowly(clock, () => tryClients(grid, folder, values.clients!)),
    ]
    for (const fault of faults) console.error(fault)
    console.log(faults.length === 0 ? 'Everything went well.' : `${faults.length} faults.`)
    process.exitCode = faults.length === 0 ? 0 : 1
  } finally {
    clock.stop()
    await grid.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** A grid's clock and worker. The clock runs ten times as fast, so the leases of killed runners expire soon. */
interface Clock {
  speed: number
  stop(): void
}

function runClock(grid: LiveGrid): Clock {
  const recovery = new LeaseRecovery(grid.store)
  const timer = setInterval(() => {
    grid.clock.now += 100 * clock.speed
    void recovery.releaseExpired()
  }, 100)
  const clock = { speed: 10, stop: () => clearInterval(timer) }
  return clock
}

/** Runs `act` at normal speed, because clients take longer than a lease lasts on the fast clock. */
async function slowly<T>(clock: Clock, act: () => Promise<T>): Promise<T> {
  clock.speed = 1
  return await act()
}

/** Kills runners while they work. Returns the faults. */
async function kill(grid: LiveGrid, folder: string, kills: number, lanes: number): Promise<string[]> {
  const startedAt = performance.now()
  const steps = Array.from({ length: kills }, (_, n) => killSteps[n % killSteps.length])
  const runs = await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    const [asker, worker] = [await grid.acme.agent(`asker-${lane}`), await grid.acme.agent(`worker-${lane}`)]
    return await killAtSteps({ url: grid.url, asker, worker, folder }, steps.filter((_, n) => n % lanes === lane))
  }))
  console.table(killSteps.map((step) => rowOf(step, runs.flat().filter((run) => run.step === step))))
  console.log(`${runs.flat().reduce((sum, { kills }) => sum + kills, 0)} kills in ${seconds(startedAt)} s.`)
  return runs.flat().map(faultOf).filter((fault) => fault !== undefined)
}

function rowOf(step: string, runs: KilledRun[]) {
  const sum = (count: (run: KilledRun) => number) => runs.reduce((sum, run) => sum + count(run), 0)
  return {
    'SIGKILL at': step,
    messages: runs.length,
    kills: sum(({ kills }) => kills),
    lost: sum(({ answers }) => answers.length === 0 ? 1 : 0),
    'answered twice': sum(({ answers }) => answers.length > 1 ? 1 : 0),
    'children that heard of one before': sum(({ children }) => children.filter(Boolean).length),
  }
}

function seconds(startedAt: number): string {
  return ((performance.now() - startedAt) / 1_000).toFixed(0)
}

void main()
