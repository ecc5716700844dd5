import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'

/** Statistics for the result tables. */

/** Returns the smallest value that at least `share` of all values do not exceed. NaN if there are no values. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN
}

export function median(values: number[]): number {
  return percentile(values, 0.5)
}

/** Returns the percentiles that a table shows. */
export function spread(times: number[]): { p50Ms: number; p99Ms: number } {
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}

/** A rate with a time, or only a time. */
export interface Pace {
  perSecond?: number
  p50Ms?: number
}

/**
 * The ratio to the floor, where 1 means equally fast. Compares requests per second or, if only times were measured,
 * medians. Undefined if neither was measured.
 */
export function ratioToFloor({ perSecond, p50Ms }: Pace, floor: Required<Pace>): number | undefined {
  if (perSecond !== undefined) return perSecond / floor.perSecond
  return p50Ms === undefined ? undefined : floor.p50Ms / p50Ms
}

/** Describes the machine: cores, memory and current load. */
export function machine(): string {
  const cores = cpus()
  return `${cores.length} cores (${cores[0].model.trim()}), ${
    Math.round(totalmem() / 2 ** 30)
  } GiB, ${process.platform} ${process.arch}, load ${loadavg()[0].toFixed(1)} before the start`
}

/** Measures how long it takes, in ms, to append a page to a file in `folder` and fsync it, as a commit does. */
export function fsyncMs(folder: string): ReturnType<typeof spread> {
  const file = openSync(join(folder, 'fsync'), 'w')
  const page = Buffer.alloc(4_096)
  const times: number[] = []
  for (let i = 0; i < 300; i++) {
    const at = performance.now()
    writeSync(file, page)
    fsyncSync(file)
    times.push(performance.now() - at)
  }
  closeSync(file)
  return spread(times)
}
