/** Closed-loop load: each client begins its next request when the answer to the last one is there. */
import { cpus } from 'node:os'
import { spread } from './numbers.ts'

/**
 * One request of one client, or whatever else counts as one. Throws when the answer is not what was asked for.
 * It may answer how many milliseconds of it count; otherwise all do.
 */
export type Step = () => Promise<number | void>

export interface Work {
  /** One for each client. */
  steps: Step[]
  /** Done once before; not measured. */
  prepare?(): Promise<void>
  /** What `steps` use up is filled again after so many steps of each client; not measured. */
  refill?: { every: number; run(): Promise<void> }
  /** Throws when what the steps left behind is not what they were told. Done once afterwards; not measured. */
  verify?(): Promise<void>
}

/** Whose processor time is looked at. */
export interface Process {
  /** So far, all its threads. */
  cpuMs(): number
}

export interface Measured {
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Processor time of the server for one request, in microseconds. */
  cpuUs: number
  /** Processor time per time measured, so 1 is one core. */
  cpu: Cpu
}

/** Processor time of the server, of this process, and of whatever else runs on the machine. */
interface Cpu {
  server: number
  caller: number
  others: number
}

interface Totals {
  times: number[]
  ms: number
  cpuMs: Cpu
}

/** Warm up, then run `work` for `seconds` (preparing, refilling and verifying do not count). */
export async function load(work: Work, server: Process, seconds: number): Promise<Measured> {
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

async function run({ steps, refill }: Work, server: Process, forMs: number): Promise<Totals> {
  const totals: Totals = { times: [], ms: 0, cpuMs: { server: 0, caller: 0, others: 0 } }
  while (totals.ms < forMs) {
    await refill?.run()
    const before = cpuMs(server)
    const startedAt = performance.now()
    const until = startedAt + forMs - totals.ms
    await Promise.all(steps.map((step) => repeat(step, refill?.every ?? Infinity, until, totals.times)))
    totals.ms += performance.now() - startedAt
    const after = cpuMs(server)
    for (const who of ['server', 'caller', 'others'] as const) totals.cpuMs[who] += after[who] - before[who]
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

function cpuMs(server: Process): Cpu {
  const { user, system } = process.cpuUsage()
  const used = { server: server.cpuMs(), caller: (user + system) / 1_000 }
  const all = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys, 0)
  return { ...used, others: all - used.server - used.caller }
}
