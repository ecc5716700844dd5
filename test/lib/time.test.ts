import { expect, test } from 'vitest'
import { clockAt, hour, instantOf, knownZone, nextDayAt } from '../../src/lib/time.ts'

const at = (text: string) => Date.parse(text)
const shown = (zone: string, text: string) => clockAt(zone, at(text)).toISOString().slice(0, 19)

test.each(['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Asia/Kolkata'])(
  '%s is known as a time zone',
  (name) => {
    expect(knownZone(name)).toBeDefined()
    expect(shown(knownZone(name)!, '2026-11-22T12:00:00Z')).not.toBe('2026-11-22T12:00:00')
  },
)

test.each(['Etc/UTC', 'GMT', 'UTC', 'utc'])('the time zone %s means UTC', (name) => {
  expect(knownZone(name)).toBe('UTC')
})

test.each([undefined, '', 'Mars/Base', '+05:00', 'Europe/Berlin; x', '<b>', 'A'.repeat(65)])(
  '%s is rejected as a time zone',
  (name) => {
    expect(knownZone(name)).toBeUndefined()
  },
)

test("the case of a time zone's name is ignored", () => {
  expect(knownZone('europe/BERLIN')).toBe(knownZone('Europe/Berlin'))
})

test.each([
  ['UTC', '2026-11-22T23:30:01Z', '2026-11-22T23:30:01'],
  ['Europe/Berlin', '2026-11-22T23:30:01Z', '2026-11-23T00:30:01'],
  ['Europe/Berlin', '2026-07-01T23:30:00Z', '2026-07-02T01:30:00'],
  ['Asia/Kolkata', '2026-11-22T00:00:00Z', '2026-11-22T05:30:00'],
  ['America/Los_Angeles', '2026-11-22T07:59:59Z', '2026-11-21T23:59:59'],
])('local time in %s at %s, converted in both directions: %s', (name, given, local) => {
  const zone = knownZone(name)!
  expect(shown(zone, given)).toBe(local)
  expect(instantOf(zone, at(`${local}Z`))).toBe(at(given))
})

test.each([
  ['Europe/Berlin', '2026-11-22T22:59:00Z', '2026-11-23T07:00:00Z'],
  ['Europe/Berlin', '2026-11-22T23:01:00Z', '2026-11-24T07:00:00Z'],
  // Daylight saving time begins and ends in these nights.
  ['Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-29T06:00:00Z'],
  ['Europe/Berlin', '2026-10-24T12:00:00Z', '2026-10-25T07:00:00Z'],
  ['UTC', '2026-11-22T12:00:00Z', '2026-11-23T08:00:00Z'],
])('8:00 on the next day in %s, seen from %s: %s', (zone, now, then) => {
  expect(nextDayAt(zone, at(now), 8 * hour)).toBe(at(then))
})
