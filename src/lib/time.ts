/** Durations in milliseconds. */
export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** The first millisecond of a day in UTC. */
export function startOfDay(at: number): number {
  return Math.floor(at / day) * day
}

/** Whether this much time has passed. A clock that was set back counts as passed, so that nothing stalls. */
export function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms
}

/** ISO 8601 in UTC with milliseconds and `Z`, from milliseconds since the epoch. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}
