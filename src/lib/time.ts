import { LruMap } from './lru-map.ts'

/** Durations in milliseconds. */
export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

export function startOfDay(at: number): number {
  return Math.floor(at / day) * day
}

/** Whether this much time has passed. True if the clock was set back, so that nothing stalls. */
export function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms
}

/** Formats milliseconds since the epoch as ISO 8601 in UTC, with milliseconds and `Z`. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Used for people whose zone is unknown. */
export const utc = 'UTC'

/** Maximum number of cached zones. */
const maxZones = 600
/** Times beyond this number of milliseconds are not valid dates. NaN is not either. */
const maxKnown = 8.6e15

const formats = new LruMap<string, Intl.DateTimeFormat>(maxZones)

/** Returns the zone with this name, if the runtime knows it. */
export function knownZone(name: string | undefined): string | undefined {
  if (name === undefined || !/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined
  try {
    // Uses the runtime's spelling, so that there are no more names than zones.
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    return isUtc(zone) ? utc : zone
  } catch {
    return undefined
  }
}

function isUtc(zone: string): boolean {
  return ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT'].includes(zone)
}

/**
 * Returns the date and time that clocks in a zone show, as a `Date` whose UTC fields are to be read. `zone` must come
 * from `knownZone`.
 */
export function clockAt(zone: string, at: number): Date {
  return new Date(at + offsetAt(zone, at))
}

/** Returns when a zone's clocks show `shown`, a result of `Date.UTC`. If they show it twice, returns either time. */
export function instantOf(zone: string, shown: number): number {
  const near = shown - offsetAt(zone, shown)
  return shown - offsetAt(zone, near)
}

/** Returns when the zone's clocks show `afterMidnightMs` past midnight on the day after `at`. */
export function nextDayAt(zone: string, at: number, afterMidnightMs: number): number {
  const shown = clockAt(zone, at).getTime()
  return instantOf(zone, Math.floor(shown / day) * day + day + afterMidnightMs)
}

/** Returns how far a zone's clocks are ahead of UTC, in milliseconds. */
function offsetAt(zone: string, at: number): number {
  if (zone === utc || !(Math.abs(at) < maxKnown)) return 0
  let format = formats.get(zone)
  if (!format) {
    const number = 'numeric'
    const fields = { year: number, month: number, day: number, hour: number, minute: number, second: number } as const
    formats.set(zone, format = new Intl.DateTimeFormat('en', { ...fields, hourCycle: 'h23', timeZone: zone }))
  }
  const shown = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const seconds = Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second)
  return seconds - Math.floor(at / 1_000) * 1_000
}
