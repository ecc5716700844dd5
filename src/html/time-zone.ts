/** The time zone in which a page shows times. Components read it, so that nobody hands it on. */
import { createContext, useContext } from 'hono/jsx'
import { clockAt, utc } from '../lib/time.ts'

/** Around a page: the zone of its reader, as `knownZone` of `lib/time-zone.ts` resolves it. */
export const TimeZone = createContext(utc)

/** The zone of the page that is being made. */
export function useZone(): string {
  return useContext(TimeZone)
}

/** What clocks in the zone of the page show, as a `Date` whose UTC fields are to be read. `at` is in milliseconds. */
export function useClock(at: number): Date {
  return clockAt(useZone(), at)
}
