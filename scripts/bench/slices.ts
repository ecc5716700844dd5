/** Measures several subjects in slices that take turns, so that a machine whose speed changes is the same for all. */
import { run, type Totals, type Workload } from './load.ts'
import { median, spread } from './numbers.ts'
import type { ServerProcess } from './server.ts'

/** How often all are measured in turn. */
export const rounds = 8
/** The share of `--seconds` of one slice. */
const shareOfSlice = 0.5

export interface Contender {
  /** For errors. */
  name: string
  server: ServerProcess
  work: Workload
}

/** The figures of each slice, in the order of the rounds. */
export interface Slices {
  totals: Totals[]
  perSecond: number[]
  /** Processor time of the server for one request, in all slices: the system counts it in steps of 10 ms. */
  cpuUs: number
  /** What the server read for one request, from its files and sockets, in all slices. */
  bytesRead: number
}

/** The slices of each contender. A first round is not counted: what has just started is not compiled yet. */
export async function inSlices(contenders: Contender[], seconds: number): Promise<Slices[]> {
  const found: Totals[][] = contenders.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    for (let n = 0; n < contenders.length; n++) {
      // Each round begins with the next one, so that none always follows the same neighbour.
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
    // Opens connections that were idle for too long.
    await Promise.all(work.steps.map((step) => step()))
    const totals = await run(work, server, forMs)
    await work.verify?.()
    return totals
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}\n${server.lastOutput()}`, { cause: error })
  }
}

/** For a line of the table. */
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

/** The median of the ratios of the slices of the same rounds. */
export function ratioOf(slices: number[], others: number[]): number {
  return median(slices.map((figure, round) => figure / others[round]))
}
