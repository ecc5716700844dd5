/** Closed-loop load: each client sends its next request after it has received the previous response. */
import { cpus } from 'node:os'
import { median, spread } from './numbers.ts'
import type { ServerProcess } from './server.ts'

/**
 * One client's request, or several that count as one. Throws if the response is wrong. May resolve to the milliseconds
 * to count instead of the complete duration.
 */
export type Step = () => Promise<number | void>

export interface Workload {
  /** One step per client. */
  steps: Step[]
  /** Called once before the steps. Not measured. */
  prepare?(): Promise<void>
  /** `run` restores the data that steps consume, first and after `every` steps of each client. Not measured. */
  refill?: { every: number; run(): Promise<void> }
  /** Throws if the stored result does not match the responses. Called once after the steps. Not measured. */
  verify?(): Promise<void>
}

/** A process whose processor time is measured. */
export interface MeasuredProcess {
  /** Processor time of all the process's threads so far. */
  cpuMs(): number
  /** Bytes read so far, from files and sockets. NaN if the system does not report it. */
  bytesRead(): number
}

export interface Measured {
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** The server's processor time per request, in microseconds. */
  cpuUs: number
  /** Processor time divided by elapsed time. A value of 1 is one core. */
  cpu: Cpu
}

/** Processor time of the server, of this process, and of everything else on the machine. */
interface Cpu {
  server: number
  caller: number
  others: number
}

/** The measurements of a slice. */
interface Totals {
  /** Duration of each step, in milliseconds. */
  times: number[]
  ms: number
  cpuMs: Cpu
  /** Bytes read by the server. */
  bytesRead: number
}

/** Warms up, then runs the workload for `seconds`. Preparing, refilling and verifying do not count. */
export async function load(work: Workload, server: MeasuredProcess, seconds: number): Promise<Measured> {
  await work.prepare?.()
  await run(work, server, Math.min(1_500, seconds * 500))
  const { times, ms, cpuMs } = await run(work, server, seconds * 1_000)
  await work.verify?.()
  return {
    perSecond: times.length / ms * 1_000,
    ...spread(times),
    cpuUs: cpuMs.server / times.length * 1_000,
    cpu: { server: cpuMs.server / ms, caller: cpuMs.caller / ms, others: Math.max(0, cpuMs.others / ms) },
  }
}

/** Runs the workload for a slice of time. Refilling does not count. */
async function run({ steps, refill }: Workload, server: MeasuredProcess, forMs: number): Promise<Totals> {
  const totals: Totals = { times: [], ms: 0, cpuMs: { server: 0, caller: 0, others: 0 }, bytesRead: 0 }
  while (totals.ms < forMs) {
    await refill?.run()
    const before = cpuMs(server)
    const readBefore = server.bytesRead()
    const startedAt = performance.now()
    const until = startedAt + forMs - totals.ms
    await Promise.all(steps.map((step) => repeat(step, refill?.every ?? Infinity, until, totals.times)))
    totals.ms += performance.now() - startedAt
    const after = cpuMs(server)
    totals.bytesRead += server.bytesRead() - readBefore
    for (const part of ['server', 'caller', 'others'] as const) totals.cpuMs[part] += after[part] - before[part]
  }
  return totals
}

async function repeat(step: Step, most: number, until: number, times: number[]): Promise<void> {
  let at = performance.now()
  for (let n = 0; n < most && at < until; n++) {
    const counts = await step()
    const now = performance.now()
    times.push(counts ?? now - at)
    at = now
  }
}

function cpuMs(server: MeasuredProcess): Cpu {
  const { user, system } = process.cpuUsage()
  const used = { server: server.cpuMs(), caller: (user + system) / 1_000 }
  const all = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys, 0)
  return { ...used, others: all - used.server - used.caller }
}

/** The number of rounds. Each round measures all contenders in turn. */
export const rounds = 8
/** The duration of one slice, as a share of `--seconds`. */
const shareOfSlice = 0.5

export interface Contender {
  /** The name used in error messages. */
  name: string
  server: ServerProcess
  work: Workload
}

/** The figures of a contender's slices, in round order. */
export interface Slices {
  totals: Totals[]
  perSecond: number[]
  /** The server's processor time per request. It covers all slices, because the system counts it in steps of 10 ms. */
  cpuUs: number
  /** Bytes that the server read per request, from files and sockets, over all slices. */
  bytesRead: number
}

/** Measures each contender's slices. The first round does not count, because new processes are not compiled yet. */
export async function inSlices(contenders: Contender[], seconds: number): Promise<Slices[]> {
  const found: Totals[][] = contenders.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    for (let n = 0; n < contenders.length; n++) {
      // Each round starts with the next contender, so that no contender always runs after the same other contender.
      const i = (round + n) % contenders.length
      const totals = await slice(contenders[i], seconds * shareOfSlice * 1_000)
      if (round > 0) found[i].push(totals)
    }
  }
  return found.map((totals): Slices => {
    const requests = sumOf(totals, ({ times }) => times.length)
    return {
      totals,
      perSecond: totals.map(({ times, ms }) => times.length / ms * 1_000),
      cpuUs: sumOf(totals, ({ cpuMs }) => cpuMs.server) / requests * 1_000,
      bytesRead: sumOf(totals, ({ bytesRead }) => bytesRead) / requests,
    }
  })
}

function sumOf(totals: Totals[], figure: (slice: Totals) => number): number {
  return totals.reduce((sum, slice) => sum + figure(slice), 0)
}

async function slice({ name, server, work }: Contender, forMs: number): Promise<Totals> {
  try {
    await work.prepare?.()
    await work.refill?.run()
    // Runs each step once, to reopen connections that were idle for too long.
    await Promise.all(work.steps.map((step) => step()))
    const totals = await run(work, server, forMs)
    await work.verify?.()
    return totals
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}\n${server.lastOutput()}`, { cause: error })
  }
}

/** Returns the figures for a line of the table. */
export function figuresOf({ totals, perSecond, cpuUs }: Slices) {
  const ms = sumOf(totals, (slice) => slice.ms)
  const share = (part: 'server' | 'caller' | 'others') => Math.max(0, sumOf(totals, ({ cpuMs }) => cpuMs[part]) / ms)
  return {
    perSecond: median(perSecond),
    ...spread(totals.flatMap(({ times }) => times)),
    cpuUs,
    cpu: { server: share('server'), caller: share('caller'), others: share('others') },
  }
}

/** Returns the median of the ratios between slices of the same round. */
export function ratioOf(slices: number[], others: number[]): number {
  return median(slices.map((figure, round) => figure / others[round]))
}
