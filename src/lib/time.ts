import { LruMap } from './lru-map.ts'

/** Durations in milliseconds. */
export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

export function startOfDay(at: number): number {
  return Math.floor(at / day) * day
}

/** Whether this much time has passed. Also true if the clock was set back, so that nothing stalls. */
export function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms
}

/** Formats milliseconds since the epoch as ISO 8601 in UTC, with milliseconds and `Z`. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** The zone for people whose time zone is unknown. */
export const utc = 'UTC'

/** Maximum number of cached zones. */
const maxZones = 600
/** Times of at least this many milliseconds are invalid dates, like NaN. */
const maxKnown = 8.6e15

const formats = new LruMap<string, Intl.DateTimeFormat>(maxZones)

/** Returns the zone with this name. Undefined if the runtime does not know it. */
export function knownZone(name: string | undefined): string | undefined {
  if (name === undefined || !/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined
  try {
    // Use the runtime's name, so that there are no more names than zones.
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    return isUtc(zone) ? utc : zone
  } catch {
    return undefined
  }
}

function isUtc(zone: string): boolean {
  return ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT'].includes(zone)
}

/** Returns the local time in a zone from `knownZone`, as a `Date` whose UTC fields contain it. */
export function clockAt(zone: string, at: number): Date {
  return new Date(at + offsetAt(zone, at))
}

/** Returns when clocks in a zone show a time, given as `Date.UTC`. If they show it twice, returns either time. */
export function instantOf(zone: string, shown: number): number {
  const near = shown - offsetAt(zone, shown)
  return shown - offsetAt(zone, near)
}

/** Returns the time `afterMidnightMs` after the midnight that follows `at`, by the zone's clocks. */
export function nextDayAt(zone: string, at: number, afterMidnightMs: number): number {
  const shown = clockAt(zone, at).getTime()
  return instantOf(zone, Math.floor(shown / day) * day + day + afterMidnightMs)
}

/** Returns a zone's offset from UTC, in milliseconds. */
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
