/** Signed-in people see errors within the application's frame. */
import { beforeAll, describe, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import { type Browser, browser } from '../support/browse.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { person, signedIn } from '../support/people.ts'

let grid: TestGrid
let account: string
let olga: Browser
beforeAll(async () => {
  grid = await testGrid()
  account = `/accounts/${grid.acme.id}`
  olga = await signedIn(grid, await person(grid, { role: 'owner', name: 'Olga', email: 'olga@acme.example' }))
})

const sections = 'aria-label="Sections"'

test.each([
  [
    'of its account',
    () => `${account}/agents/nobody`,
    'The account has no such agent.',
    'Go to Agents',
    /aria-current="page"/,
  ],
  [
    'of another account',
    () => `/accounts/${grid.evil.id}/agents`,
    'not a member of this account',
    'Go to Home',
    /./,
  ],
  ['of no account', () => '/nothing-here', 'There is nothing at /nothing-here', 'Go to Home', /./],
  ['of a used link', () => '/reset/used', 'used', 'Go to Home', /<h1>This link no longer works</],
])('on an error page %s a signed-in user has the navigation and a way back', async (_, path, words, next, html) => {
  const page = await olga.request(path(), { headers: { Accept: 'text/html' } })
  const body = await page.text()

  expect(page.status).toBeGreaterThanOrEqual(400)
  expect(body).toContain(sections)
  expect(body).toContain(words)
  expect(body).toContain(next)
  expect(body).toContain(`href="${account}/agents"`)
  expect(body).toMatch(html)
  expect(body).not.toContain(grid.evil.id)
})

test('an error page shows the number of open items in the navigation', async () => {
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hello' })
  grid.clock.now += 2 * hour
  const { status, text } = await olga.open(`${account}/agents/nobody`)

  expect(status).toBe(404)
  expect(text).toContain('Attention 1 open')
})

test('without a session or an account, an error page has no navigation', async () => {
  const alone = await signedIn(grid, await person(grid))
  for (const one of [browser(grid), alone]) {
    const page = await one.request('/nothing-here', { headers: { Accept: 'text/html' } })

    expect(page.status).toBe(404)
    expect(await page.text()).not.toContain(sections)
  }
})

describe('403', () => {
  test('a refused page names the permitted roles, and some people with these roles', async () => {
    const viewer = await signedIn(grid, await person(grid, { role: 'viewer', name: 'Vera' }))

    const { status, text, html } = await viewer.open(`${account}/new-agent`)

    expect(status).toBe(403)
    expect(html).toContain(sections)
    expect(text).toContain('Only owners and admins of the account can do this.')
    expect(text).toMatch(/Your role here is viewer\. You can ask ann@acme\.example or Olga/)
  })
})
