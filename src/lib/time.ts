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

/** For people whose time zone is unknown. */
export const utc = 'UTC'

/** Number of cached zones. */
const maxZones = 600
/** Beyond this, in milliseconds, times are invalid dates. So is NaN. */
const maxKnown = 8.6e15

const formats = new LruMap<string, Intl.DateTimeFormat>(maxZones)

/** The zone with this name, if the runtime knows it. */
export function knownZone(name: string | undefined): string | undefined {
  if (name === undefined || !/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined
  try {
    // As formatted by the runtime, so that there are no more names than zones.
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    return isUtc(zone) ? utc : zone
  } catch {
    return undefined
  }
}

function isUtc(zone: string): boolean {
  return ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT'].includes(zone)
}

/** The local date and time in a zone, as a `Date` whose UTC fields are to be read. `zone` comes from `knownZone`. */
export function clockAt(zone: string, at: number): Date {
  return new Date(at + offsetAt(zone, at))
}

/** When clocks in a zone show a date and time: `shown` is its `Date.UTC`. If they show it twice, either of both. */
export function instantOf(zone: string, shown: number): number {
  const near = shown - offsetAt(zone, shown)
  return shown - offsetAt(zone, near)
}

/** The time `afterMidnightMs` into the day after `at`, by the zone's clocks. */
export function nextDayAt(zone: string, at: number, afterMidnightMs: number): number {
  const shown = clockAt(zone, at).getTime()
  return instantOf(zone, Math.floor(shown / day) * day + day + afterMidnightMs)
}

/** A zone's offset from UTC, in milliseconds. */
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
