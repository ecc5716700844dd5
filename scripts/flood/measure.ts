/** Measures how a flood by one account affects well-behaved accounts. */
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
  /** The duration of the flood. */
  seconds: number
  /** Duration of the phases before and after the flood. */
  quietSeconds: number
  honest: number
  /** Calls per second of each well-behaved account. */
  honestPerSecond: number
  /** The number of agents in the flooding account, each with a key. */
  agents: number
  connections: number
  /** The offered load as a multiple of the grid's capacity. */
  times: number
  /** The capacity in calls per second. Measured first if missing. */
  capacity?: number
  /** Settings with other values than the defaults. */
  env?: Record<string, string>
}

interface Phase {
  name: 'before' | 'during' | 'after'
  seconds: number
  /** Served calls of well-behaved accounts, per second. */
  honestPerSecond: number
  /** Refused calls of well-behaved accounts. */
  honestRefused: number
  /** Latency of served calls, counted from when a call was due. */
  p50Ms: number
  p99Ms: number
  maxMs: number
  /** The server's maximum resident memory. */
  maxMiB: number
  /** The server's processor time divided by elapsed time. A value of 1 is one core. */
  cpu: number
  /** The same ratio for all processes of the machine. If all cores are busy, the figures depend on other programs. */
  machineCpu: number
}

export interface FloodReport {
  /** Calls per second, of the flood's kind, that the grid serves without other load and without call limits. */
  capacity: number
  phases: Phase[]
  flood: Flooded
  /** Time from the flood's end until well-behaved accounts were served as before. Infinity if not in the last phase. */
  recoveryMs: number
}

const gaugeSeconds = 3
/**
 * Accounts are "served as before" if one second reaches this share of the previous rate, with a p99 below the greater
 * of two values: `recoveredMs`, and `recoveredFactor` times the previous p99.
 */
const recoveredShare = 0.95
const recoveredMs = 100
const recoveredFactor = 2

/** Starts a grid with the default limits, and measures it before, during and after a flood. */
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
    // Gives the new server time to compile its code.
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
    // Waits until the last calls are answered.
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

/** Measures how many calls of a single account are served per second, without limits and without other load. */
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

/** Runs a flood from another process, for as long as the order says. */
async function runFlood(order: FloodOrder): Promise<Flooded> {
  let flooded: Flooded | undefined
  const client = startClient('flooder', order, (line: Flooded) => flooded = line)
  await new Promise((resolve) => client.once('close', resolve))
  if (!flooded) throw new Error('The flood failed')
  return flooded
}

/** Starts a client process. `onLine` receives each output line, parsed. */
function startClient<Line>(name: string, order: unknown, onLine: (line: Line) => void): ChildProcess {
  const script = ['--import', 'tsx', `scripts/flood/${name}.ts`, JSON.stringify(order)]
  const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'], env: minimalEnv })
  killAtBenchEnd(child)
  createInterface(child.stdout).on('line', (line) => onLine(JSON.parse(line)))
  return child
}

/**
 * Creates accounts in a new database, in a child process. Only one process can open a local file, and its lock ends
 * with the process.
 */
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
    // Counts calls by the time of their response. Calls answered after the flood do not count as served during it.
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

/** The beginning of the first second after `endedAt` in which well-behaved accounts are served as before. */
function recovery(calls: HonestCall[], endedAt: number, before: Phase, seconds: number): number {
  const maxMs = Math.max(recoveredMs, recoveredFactor * before.p99Ms)
  for (let from = endedAt; from <= endedAt + (seconds - 1) * 1_000; from += 50) {
    const { honestPerSecond, p99Ms } = summary(calls, from, from + 1_000)
    if (honestPerSecond >= recoveredShare * before.honestPerSecond && p99Ms <= maxMs) return from - endedAt
  }
  return Infinity
}
