/** The arithmetic of the tables. */

/** The smallest value that `share` of all values do not exceed. NaN when there are none. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN
}

export function median(values: number[]): number {
  return percentile(values, 0.5)
}

/** What a table shows of many times in milliseconds. */
export function spread(times: number[]): { p50Ms: number; p99Ms: number } {
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}

/** What the floor does, and what is compared with it. */
export interface Pace {
  perSecond?: number
  p50Ms?: number
}

/**
 * How near something comes to the floor, 1 being as good: by requests per second, or where only a time was
 * measured, by the medians. Undefined where neither is known.
 */
export function ofFloor({ perSecond, p50Ms }: Pace, floor: Required<Pace>): number | undefined {
  if (perSecond !== undefined) return perSecond / floor.perSecond
  return p50Ms === undefined ? undefined : floor.p50Ms / p50Ms
}
