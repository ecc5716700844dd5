/** What people see of a guardrail's work, and how they act on it. See docs/protocol/guardrails.md. */
import { beforeEach, expect, test } from 'vitest'
import { setContentsVisible } from '../../../src/grid/accounts/people-read.ts'
import { hashForLookup } from '../../../src/lib/secrets.ts'
import { day, hour } from '../../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { person, signedIn } from '../../support/people.ts'
import { activityOf, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let id: string
let path: string
let settings: string
beforeEach(async () => {
  const { guardrailChecks } = testProviders()
  grid = await testGrid({ guardrailChecks })
  id = await guard(grid.acme, 'alice', { name: 'names', direction: 'outbound' })
  path = `/accounts/${grid.acme.id}/guardrails/${id}`
  settings = `/accounts/${grid.acme.id}/settings/account/contents`
})

const send = (message: string) => callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message })
/** Returns the chart's data, from its table for screen readers. */
const bars = (html: string) =>
  [...html.matchAll(/<th scope="row">([\w: ]+)<\/th>((?:<td>\d+<\/td>)+)/g)].map(([, at, counts]) =>
    `${at}: ${counts.replace(/<\/td><td>/g, ' ').replace(/<[^>]+>/g, '')}`
  )
const shows = () => setContentsVisible(grid.acme.store, { isVisible: true })

test("a guardrail's chart counts by day or by hour, and omits older objections", async () => {
  await send(`old ${secret}`)
  grid.clock.now += 29 * day + 20 * hour
  await send(`one ${secret}`)
  await send(`two ${secret}`)
  grid.clock.now += 5 * hour
  await send(`three ${secret}`)
  const ann = await signedInWithRole(grid, 'owner')

  const month = bars((await ann.open(path)).html)
  const hours = bars((await ann.open(`${path}?span=day`)).html)

  const today = new Date(grid.clock.now).toUTCString().slice(5, 11).replace(/^0/, '')
  expect(month).toHaveLength(30)
  expect(month.at(-1)).toMatch(new RegExp(`^${today}: [1-3] 0 0 0 0 0$`))
  expect(month.reduce((sum, bar) => sum + Number(bar.match(/: (\d+)/)![1]), 0)).toBe(3)
  expect(hours).toHaveLength(24)
  expect(hours.filter((bar) => !bar.endsWith(' 0 0 0 0 0 0')).map((bar) => bar.slice(7))).toEqual([
    '2 0 0 0 0 0',
    '1 0 0 0 0 0',
  ])
})

test("a guardrail's cases show the agents and the finding, and the text only if people may see contents", async () => {
  await send(`before ${secret}`)
  const owner = await signedInWithRole(grid, 'owner')
  const viewer = await signedInWithRole(grid, 'viewer')

  const hidden = await owner.open(path)
  expect(hidden.text).toMatch(
    new RegExp(`@alice to @bob .*${hashForLookup(`before ${secret}`).slice(0, 8)} ${kind} blocked`),
  )
  expect(hidden.text).not.toContain('before')
  expect(hidden.html).toContain(`<a href="${settings}">account settings</a>`)
  expect((await viewer.open(path)).text).toContain('Only owners of the account can change this, in its settings.')

  await shows()
  await send(`after ${secret}`)
  const shown = await viewer.open(path)
  expect(shown.text).toContain(`after ${secret}`)
  expect(shown.text).not.toContain('before')
})

test("a guardrail's older cases are on further pages", async () => {
  for (let n = 0; n < 11; n++) await send(`${n} ${secret}`)
  await shows()
  await send(`newest ${secret}`)
  const ann = await signedInWithRole(grid, 'owner')

  const first = await ann.open(path)
  const older = await ann.open(first.html.match(/href="([^"]*\?before=[^"]*)"/)![1])

  expect(first.html.match(/@alice/g)!.length).toBeGreaterThanOrEqual(10)
  expect(older.text.match(/@alice<|@alice to @bob/g)).toHaveLength(2)
  expect(older.html).toContain('rel="prev"')
  expect(older.html).not.toContain('rel="next"')
  expect((await ann.open(`${path}?before='`)).text).toContain(`newest ${secret}`)
})

test('one click on a case allows its text, and another click revokes the exception', async () => {
  await send(secret)
  const admin = await signedInWithRole(grid, 'admin')

  const allowed = await admin.submit(path, {}, `${path}/allow`)
  expect(allowed.at).toBe(`${path}?done=text-allowed`)
  expect(allowed.text).toContain('allowed now')
  expect(allowed.text).toContain('Allowed texts')
  expect((await send(secret)).code).toBeUndefined()

  const undone = await admin.submit(path, {}, `${path}/disallow`)
  expect(undone.text).not.toContain('allowed now')
  expect((await send(secret)).code).toBe('guardrail_blocked')
  const textHash = hashForLookup(secret)
  expect((await activityOf(grid)).slice(-2)).toMatchObject([
    { tool: 'allow_text', outcome: 'ok', input: { id, textHash } },
    { tool: 'disallow_text', outcome: 'ok', input: { id, textHash } },
  ])
  const log = await admin.open(`/accounts/${grid.acme.id}/activity`)
  expect(log.text).toContain('Allowed a text that guardrail names had objected to')
})

test('the list of guardrails shows the numbers of the last 7 days', async () => {
  const open = async () => await (await signedInWithRole(grid, 'owner')).open(`/accounts/${grid.acme.id}/guardrails`)
  await send(`old ${secret}`)
  grid.clock.now += 2 * day
  expect((await open()).text).toMatch(/names .* 1 blocked/)

  grid.clock.now += 6 * day
  expect((await open()).text).toMatch(/names .* nothing/)
})

test('an owner lets people see contents after a confirmation, and this is logged', async () => {
  const user = await person(grid, { role: 'owner' })
  const owner = await signedIn(grid, user)
  expect((await owner.open(settings)).text).toContain(
    'The texts of blocked messages are not kept, and no one sees them.',
  )

  const on = await owner.submit(settings, {})
  expect(on.at).toBe(`${settings}?done=contents-shown`)
  expect(on.text).toContain('A text is kept for 7 days.')
  expect(await grid.acme.store.read.profile.showsContents()).toBe(true)

  grid.clock.now += hour
  const asked = await owner.submit(settings, {})
  expect(asked.at).toContain('/confirm')
  expect(await grid.acme.store.read.profile.showsContents()).toBe(true)

  const off = await (await signedIn(grid, user)).submit(settings, {})
  expect(off.at).toBe(`${settings}?done=contents-hidden`)
  const log = await (await signedIn(grid, user)).open(`/accounts/${grid.acme.id}/activity`)
  expect(log.text).toMatch(/Stopped showing people the texts .* Let people see the texts that guardrails block/)
})
