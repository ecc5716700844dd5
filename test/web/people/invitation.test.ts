import { beforeEach, expect, test } from 'vitest'
import { day } from '../../../src/lib/time.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { repeatAttempts, rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, emailedPath, password, type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let owner: Person
let ann: Browser
let team: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  owner = await person(grid, { role: 'owner', email: 'olga@acme.example', name: 'Olga' })
  ann = await signedIn(grid, owner)
  team = `/accounts/${grid.acme.id}/settings/team`
})

const invite = (email: string, role = 'member') => ann.submit(team, { email, role }, `${team}/invitations`)

test('an invited user signs in and accepts', async () => {
  await person(grid, { email: 'bob@people.example' })
  await invite('bob@people.example', 'viewer')
  const link = emailedPath(grid)
  const bob = browser(grid)

  const page = await bob.open(link)
  expect(page.text).toContain('There is already a user with this address')
  const signInAt = page.html.match(/href="(\/sign-in\?next=[^"]+)"/)![1]
  const back = await bob.submit(signInAt, { email: 'bob@people.example', password }, '/sign-in')
  expect(back.at).toBe(link)
  const joined = await bob.submit(link, {})

  expect(joined.at).toBe(arrivalOf(grid.acme, { done: 'joined' }))
  expect((await bob.open(link)).status).toBe(400)
})

test('an invitation link opened by another user is refused', async () => {
  await invite('bob@people.example', 'admin')
  const link = emailedPath(grid)
  const eve = await signedIn(grid, await person(grid, { role: 'owner', account: grid.evil }))

  const page = await eve.open(link)
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  const forged = await eve.post(link, { csrf })

  expect(page.text).toContain('This invitation is for another address')
  expect(page.html).not.toContain(`action="${link}"`)
  expect(forged.status).toBe(403)
  expect((await eve.open(team)).status).toBe(404)
})

test('an invited address without a user must register to accept', async () => {
  await invite('bob@people.example')
  const link = emailedPath(grid)
  const bob = browser(grid)
  const csrf = (await bob.open(link)).html.match(/name="csrf" value="([^"]+)"/)![1]

  expect((await bob.post(link, { csrf })).status).toBe(401)
  const short = await bob.submit(link, { name: 'Bob', password: 'short' }, `${link}/register`)
  expect(short.status).toBe(400)
  expect(short.html).toMatch(/id="password-error".*A password has 10 to 200 characters/)
  expect(short.html).toContain('value="Bob"')
})

test.each(['withdrawn', 'sent again', 'invited again', 'used', 'a day old', 'made up'])(
  'an invitation link that is %s does not work',
  async (what) => {
    await invite('bob@people.example')
    const link = what === 'made up' ? `/invitations/${'x'.repeat(43)}` : emailedPath(grid)
    const [{ id }] = await grid.acme.store.read.team.invitations()
    const csrf = (await browser(grid).open('/sign-in')).html.match(/name="csrf" value="([^"]+)"/)![1]

    // Advances the clock past the limit of emails to one address.
    grid.clock.now += 6 * 60_000
    if (what === 'withdrawn') await ann.submit(team, {}, `${team}/invitations/${id}/withdraw`)
    if (what === 'sent again') await ann.submit(team, {}, `${team}/invitations/${id}/again`)
    if (what === 'invited again') await invite('bob@people.example', 'viewer')
    if (what === 'used') await browser(grid).submit(link, { name: 'Bob', password }, `${link}/register`)
    if (what === 'a day old') grid.clock.now += day

    const bob = browser(grid)
    expect(await bob.open(link)).toMatchObject({
      status: 400,
      text: expect.stringContaining('Ask the sender for a new one'),
    })
    expect((await bob.post(`${link}/register`, { csrf, name: 'Bob', password })).status).toBe(403)
    const own = (await bob.open('/sign-in')).html.match(/name="csrf" value="([^"]+)"/)![1]
    expect((await bob.post(`${link}/register`, { csrf: own, name: 'Bob', password })).status).toBe(400)
    if (what.endsWith('again')) expect((await bob.open(emailedPath(grid))).text).toContain('Olga invites')
  },
)

test.each(['invited again', 'sent again'])(
  'beyond the email limit, an invitation cannot be %s, and the first link stays valid',
  async (how) => {
    await invite('bob@people.example')
    const [{ id }] = await grid.acme.store.read.team.invitations()
    const repeat = () =>
      how === 'invited again'
        ? invite('bob@people.example', 'admin')
        : ann.submit(team, {}, `${team}/invitations/${id}/again`)

    const page = await repeat()

    expect(page.status).toBe(429)
    expect(page.headers.get('retry-after')).toBe('300')
    expect(page.text).toContain('Too many emails were sent. Try again in 5 minutes.')
    expect(await grid.acme.store.read.team.invitations()).toMatchObject([{ id, role: 'member' }])
    expect((await browser(grid).open(emailedPath(grid))).text).toContain('Olga invites')
    grid.clock.now += 5 * 60_000
    expect((await repeat()).text).toContain('The invitation is on its way')
    expect(grid.emails).toHaveLength(2)
  },
)

test('refused invitations do not count towards the email limit', async () => {
  await invite('bob@people.example')
  const [{ id }] = await grid.acme.store.read.team.invitations()
  const viewer = await signedIn(grid, await person(grid, { role: 'viewer' }))
  const csrf = (await viewer.open(team)).html.match(/name="csrf" value="([^"]+)"/)![1]
  grid.clock.now += 5 * 60_000

  expect((await viewer.post(`${team}/invitations/${id}/again`, { csrf })).status).toBe(403)
  expect((await viewer.post(`${team}/invitations`, { csrf, email: 'x@people.example', role: 'viewer' })).status).toBe(
    403,
  )
  await invite('olga@acme.example')

  expect((await rows(grid, "SELECT count(*) AS n FROM attempts WHERE kind = 'mail'"))[0].n).toBe(1)
})

test('an owner can invite a team of 50 in an hour, and at most 100 people in total', async () => {
  for (let n = 0; n < 50; n++) {
    expect((await invite(`p${n}@people.example`)).text).toContain('The invitation is on its way')
    grid.clock.now += 60_000
  }
  expect(grid.emails).toHaveLength(50)
  await repeatAttempts(grid, 'mail_sender', 50)

  const page = await invite('p50@people.example')

  expect(page.status).toBe(429)
  expect(page.text).toContain('Too many emails were sent. Try again in 10 minutes.')
})
