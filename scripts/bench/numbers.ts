/** Statistics for the tables. */

/** The smallest value that `share` of all values do not exceed. NaN without values. */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN
}

export function median(values: number[]): number {
  return percentile(values, 0.5)
}

/** The percentiles of times that a table shows. */
export function spread(times: number[]): { p50Ms: number; p99Ms: number } {
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}

/** A rate, or only a time. */
export interface Pace {
  perSecond?: number
  p50Ms?: number
}

/**
 * The ratio to the floor, where 1 is as fast: of the requests per second or, if only a time was measured, of the
 * medians. Undefined without either.
 */
export function ratioToFloor({ perSecond, p50Ms }: Pace, floor: Required<Pace>): number | undefined {
  if (perSecond !== undefined) return perSecond / floor.perSecond
  return p50Ms === undefined ? undefined : floor.p50Ms / p50Ms
}
