/** What honest accounts notice while another account floods the grid. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { percentile } from '../bench/numbers.ts'
import {
  killAtBenchEnd,
  minimalEnv,
  type Runtime,
  type ServerProcess,
  startScript,
  temporaryFolder,
} from '../bench/server.ts'
import type { FloodAccounts } from './accounts.ts'
import type { Flooded, FloodOrder } from './flooder.ts'
import type { HonestCall, HonestOrder } from './honest.ts'
import type { Traffic } from './requests.ts'

export interface FloodOptions {
  runtime: Runtime
  traffic: Traffic
  /** Of the flood. */
  seconds: number
  /** Before and after it. */
  quietSeconds: number
  honest: number
  /** Calls of each honest account per second. */
  honestPerSecond: number
  /** Agents of the account that floods, each with a key. */
  agents: number
  connections: number
  /** How many times as much is offered as the grid can serve. */
  times: number
  /** How much it can serve per second; measured beforehand if missing. */
  capacity?: number
  /** Settings other than the defaults. */
  env?: Record<string, string>
}

interface Phase {
  name: 'before' | 'during' | 'after'
  seconds: number
  /** Calls of honest accounts that were served, per second. */
  honestPerSecond: number
  /** Calls of honest accounts that were refused. */
  honestRefused: number
  /** Of the served ones, from when the call was due. */
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** The most resident memory of the server. */
  maxMiB: number
  /** Processor time of the server per elapsed time: 1 is one core. */
  cpu: number
  /** The same of all processes of the machine. When all cores are busy, others disturb the measurement. */
  machineCpu: number
}

export interface FloodReport {
  /** Calls of the flood that the grid serves per second, without limits of calls and alone. */
  capacity: number
  phases: Phase[]
  flood: Flooded
  /** From the end of the flood until honest accounts are served as before it. Infinity: not within the phase after. */
  recoveryMs: number
}

const gaugeSeconds = 3
/** Served as before means: in a second, this share of the rate before, and a p99 below the greater of these two. */
const recoveredShare = 0.95
const recoveredMs = 100
const recoveredFactor = 2

/** Start a grid with the default limits, and measure it before, during and after a flood. */
export async function measureFlood(options: FloodOptions): Promise<FloodReport> {
  const folder = temporaryFolder()
  const env = { DATABASE_URL: `file:${join(folder, 'grid.db')}`, LOG_LEVEL: 'warn', OAUTH_CIMD: 'off', ...options.env }
  const accounts = await createAccounts(env, options)
  const capacity = options.capacity ?? await measureCapacity(options, env, accounts)
  const server = await startScript(options.runtime, ['src/main.ts', 'serve'], env, '/readyz')
  const { port } = server
  const calls: HonestCall[] = []
  const order: HonestOrder = { port, accounts: accounts.honest, perSecond: options.honestPerSecond }
  const honest = startClient('honest', order, (line: HonestCall[]) => calls.push(...line))
  const phases: Phase[] = []
  const phase = async (name: Phase['name'], whatHappens: () => Promise<unknown>) => {
    const from = Date.now()
    const used = await measureServer(server, whatHappens)
    const until = Date.now()
    return () => phases.push({ name, ...used, ...summary(calls, from, until) })
  }
  try {
    // The code of a server that has just started is not compiled yet.
    await sleep(1_000)
    const before = await phase('before', () => sleep(options.quietSeconds * 1_000))
    let flood: Flooded | undefined
    const during = await phase('during', async () => {
      flood = await runFlood({
        port,
        account: accounts.flooding,
        traffic: options.traffic,
        perSecond: options.times * capacity,
        connections: options.connections,
        seconds: options.seconds,
      })
    })
    const endedAt = Date.now()
    const after = await phase('after', () => sleep(options.quietSeconds * 1_000))
    // Answers of the last calls.
    await sleep(1_000)
    for (const add of [before, during, after]) add()
    return { capacity, phases, flood: flood!, recoveryMs: recovery(calls, endedAt, phases[0], options.quietSeconds) }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${server.lastOutput()}`, { cause: error })
  } finally {
    honest.kill('SIGKILL')
    await server.stop()
  }
}

/** What one account with nothing next to it is served per second, if nothing limits its calls. */
async function measureCapacity(
  { runtime, traffic, connections }: FloodOptions,
  env: Record<string, string>,
  { gauge }: FloodAccounts,
): Promise<number> {
  const server = await startScript(
    runtime,
    ['src/main.ts', 'serve'],
    { ...env, CALLS_PER_SECOND: '0' },
    '/readyz',
  )
  try {
    const order = {
      port: server.port,
      account: gauge,
      traffic,
      perSecond: 100_000,
      connections: Math.min(connections, 64),
    }
    await runFlood({ ...order, seconds: gaugeSeconds })
    const { answers } = await runFlood({ ...order, seconds: gaugeSeconds })
    return Math.round((answers.served ?? 0) / gaugeSeconds)
  } finally {
    await server.stop()
  }
}

/** Flood a grid for as long as the order says, from another process. */
async function runFlood(order: FloodOrder): Promise<Flooded> {
  let flooded: Flooded | undefined
  const client = startClient('flooder', order, (line: Flooded) => flooded = line)
  await new Promise((resolve) => client.once('close', resolve))
  if (!flooded) throw new Error('The flood failed')
  return flooded
}

/** `onLine` gets each line of its output, parsed. */
function startClient<Line>(name: string, order: unknown, onLine: (line: Line) => void): ChildProcess {
  const script = ['--import', 'tsx', `scripts/flood/${name}.ts`, JSON.stringify(order)]
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'], env: minimalEnv })
  killAtBenchEnd(child)
  createInterface(child.stdout).on('line', (line) => onLine(JSON.parse(line)))
  return child
}

/** Create accounts in a new database. In a child process: only one process can open a local file, and its lock ends with that process. */
export async function createAccounts(
  env: Record<string, string>,
  { honest, agents }: { honest: number; agents: number },
): Promise<FloodAccounts> {
  const script = ['--import', 'tsx', 'scripts/flood/accounts.ts', honest, agents].map(String)
  const { stdout } = await promisify(execFile)(process.execPath, script, { env: { ...minimalEnv, ...env } })
  return JSON.parse(stdout)
}

async function measureServer(server: ServerProcess, run: () => Promise<unknown>) {
  let maxKiB = server.residentKiB()
  const sample = setInterval(() => maxKiB = Math.max(maxKiB, server.residentKiB()), 100)
  const [startedAt, cpuBefore, machineBefore] = [performance.now(), server.cpuMs(), machineCpuMs()]
  await run()
  clearInterval(sample)
  const ms = performance.now() - startedAt
  return {
    maxMiB: maxKiB / 1_024,
    cpu: (server.cpuMs() - cpuBefore) / ms,
    machineCpu: (machineCpuMs() - machineBefore) / ms,
  }
}

function machineCpuMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
}

function summary(calls: HonestCall[], from: number, until: number) {
  const made = calls.filter(({ at }) => at >= from && at < until)
  const served = made.filter(({ isServed }) => isServed)
  const times = served.map(({ ms }) => ms)
  const seconds = (until - from) / 1_000
  return {
    seconds,
    // By when they were answered: calls that are answered after the flood are not served in it.
    honestPerSecond: answeredIn(calls, from, until).length / seconds,
    honestRefused: made.length - served.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    maxMs: Math.max(...times),
  }
}

function answeredIn(calls: HonestCall[], from: number, until: number): HonestCall[] {
  return calls.filter(({ at, ms, isServed }) => isServed && at + ms >= from && at + ms < until)
}

/** The beginning of the first second after `endedAt` in which honest accounts are served as before. */
function recovery(calls: HonestCall[], endedAt: number, before: Phase, seconds: number): number {
  const maxMs = Math.max(recoveredMs, recoveredFactor * before.p99Ms)
  for (let from = endedAt; from <= endedAt + (seconds - 1) * 1_000; from += 50) {
    const { honestPerSecond, p99Ms } = summary(calls, from, from + 1_000)
    if (honestPerSecond >= recoveredShare * before.honestPerSecond && p99Ms <= maxMs) return from - endedAt
  }
  return Infinity
}
