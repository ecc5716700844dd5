/** Times in the reader's time zone. The browser sends the zone in a cookie. */
import { beforeEach, describe, expect, test } from 'vitest'
import { setPeopleRead } from '../../src/grid/accounts/people-read.ts'
import { attentionOf } from '../../src/grid/attention/attention.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { hour } from '../../src/lib/time.ts'
import type { Browser } from '../support/browse.ts'
import { hasBrowser, useBrowser } from '../support/browser.ts'
import { say } from '../support/conversations.ts'
import { type Person, person, signedIn } from '../support/people.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { storeOf } from '../support/grid.ts'

let grid: LiveGrid
let owner: Person
let one: Browser
let home: string
let conversation: string
beforeEach(async () => {
  grid = await liveGrid()
  grid.clock.now = Date.parse('2026-11-21T22:30:00Z')
  owner = await person(grid, { role: 'owner' })
  one = await signedIn(grid, owner)
  home = `/accounts/${grid.acme.id}`
  await say(grid, storeOf(grid, grid.alice), 'bob', 'before midnight in Berlin')
  grid.clock.now += hour
  await say(grid, storeOf(grid, grid.alice), 'bob', 'after midnight in Berlin')
  const [{ id }] = (await listThreads(grid.acme.store, {})).threads
  conversation = `${home}/conversations/${id}`
})

const days = (html: string) => [...html.matchAll(/data-local="day">([^<]*)</g)].map(([, day]) => day)
const times = (html: string) => [...html.matchAll(/data-local="time">([^<]*)</g)].map(([, time]) => time)

test("a page without script shows days and times in the cookie's zone", async () => {
  const before = (await one.open(conversation)).html
  one.cookies.set('grid-zone', 'Europe/Berlin')
  const after = await one.open(conversation)

  expect([days(before), times(before)]).toEqual([['Sat 21 Nov 2026'], ['22:30', '23:30']])
  expect([days(after.html), times(after.html)]).toEqual([['Sat 21 Nov 2026', 'Sun 22 Nov 2026'], ['23:30', '00:30']])
  expect(after.text).toContain('A time in Europe/Berlin')
  const following = await one.request(`${conversation}/messages?after=0`)
  expect(times(await following.text())).toEqual(['23:30', '00:30'])
})

test("dates, hours of charts and days of filters are in the cookie's zone", async () => {
  const settings = `${home}/settings/account/reading`
  const account = grid.store.account(grid.acme.id, owner.actor('owner'))
  for (const choice of ['off', 'on'] as const) await setPeopleRead(account, { choice })
  await one.submit(`${home}/skills/new`, { name: 'night work', description: '' })
  one.cookies.set('grid-zone', 'Europe/Berlin')
  const rows = async (day: string) =>
    (await one.open(`${home}/activity?from=${day}&to=${day}`)).text.includes('night work')

  expect((await one.open(settings)).text).toContain('since 22 Nov 2026')
  expect((await one.open(`${home}/home`)).html).toContain('<title>00:00: 1</title>')
  const numbers = (await one.open(`${home}/home`)).text
  expect(numbers).toMatch(/Hour \(Europe\/Berlin\) .* 23:00 1 .* 00:00 1 /)
  expect([await rows('2026-11-21'), await rows('2026-11-22')]).toEqual([false, true])
})

test("'tomorrow' is computed in the cookie's time zone", async () => {
  grid.clock.now += 2 * hour
  const account = grid.store.account(grid.acme.id, owner.actor('owner'))
  const until = async () =>
    (await attentionOf(account, undefined)).snoozed.map(({ until }) => new Date(until).toISOString())
  expect((await one.open(`${home}/attention`)).text).toContain('Until tomorrow, 8:00 UTC')
  one.cookies.set('grid-zone', 'Asia/Tokyo')
  await one.submit(`${home}/attention`, { time: 'tomorrow' }, `${home}/attention/snooze`)

  expect(await until()).toEqual(['2026-11-22T23:00:00.000Z'])
  expect((await one.open(`${home}/attention`)).text).toContain('until 23 Nov 2026, 08:00 , or until it gets worse')
})

test.each(['Mars/Base', '<b>', '+05:00', 'x'.repeat(3_000)])(
  'pages use UTC for an unknown time zone, and say so: %s',
  async (name) => {
    one.cookies.set('grid-zone', name)

    expect((await one.open(`${home}/settings/profile`)).text).toContain('Times of the day are in UTC ,')
    expect(times((await one.open(conversation)).html)).toEqual(['22:30', '23:30'])
  },
)

describe.skipIf(!hasBrowser)('in Chromium', () => {
  const visit = useBrowser()

  test("the first page sends the browser's time zone, and later pages use it", async () => {
    const { page, context, close } = await visit({ timeZone: 'Asia/Tokyo' })
    const cookies = [...one.cookies].map(([name, value]) => ({ name, value, url: grid.url }))
    await context.addCookies(cookies)
    await page.goto(`${grid.url}${home}/settings/profile`)
    await page.getByText('Times of the day are in UTC').waitFor()
    await page.reload()
    await page.getByText('Times of the day are in Asia/Tokyo').waitFor()

    const answer = await page.goto(`${grid.url}${conversation}`)
    expect(times(await answer!.text())).toEqual(['07:30', '08:30'])
    await close()
  })
})
