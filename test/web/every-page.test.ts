/** Every page, as every kind of visitor who may see it. `npm run screenshots` saves screenshots of all of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import { browser } from '../support/browse.ts'
import { faultsOf, hasBrowser, useBrowser } from '../support/browser.ts'
import { emptyLiveGrid, type LiveGrid, liveGrid } from '../support/server.ts'
import {
  pages,
  routesWithoutPage,
  type SeededSite,
  seedSite,
  setUpPath,
  type SitePage,
  visitors,
} from '../support/site.ts'

let grid: LiveGrid
let site: SeededSite
beforeAll(async () => {
  // Passkeys need a name instead of an IP address.
  grid = await liveGrid({ host: 'localhost', env: { DURABILITY: 'relaxed', SIGNUP_PER_HOUR: '1000' } })
  site = await seedSite(grid)
}, 120_000)
afterAll(() => grid?.close())

const open = ({ as = 'owner', path }: SitePage) =>
  (site.browsers[as] ?? browser(grid)).request(path(site), { headers: { 'Accept-Encoding': 'gzip, br' } })

test('the list contains every registered page', () => {
  const answersHtml = (path: string) =>
    !/^\/(\.well-known|a2a|api|mcp|assets|healthz|readyz|agent-grid\.tgz)\b|^\/\*$|\.well-known/.test(path)
  const routes = grid.app.routes.filter(({ method, path }) => method === 'GET' && answersHtml(path))

  const listed = [...pages.map(({ route }) => route), ...Object.keys(routesWithoutPage)]
  expect([...new Set(routes.map(({ path }) => path))].sort()).toEqual([...new Set(listed)].sort())
})

// See docs/security.md, "Compression".
test.each(pages)('$name is not compressed, unless it is the same for everybody', async (page) => {
  const response = await open(page)

  expect(response.headers.get('content-encoding')).toBe(page.name === 'welcome' ? 'br' : null)
})

test.each(pages)('$name has the security and caching headers of a page', async (page) => {
  const response = await open(page)

  expect(response.status).toBe(page.status ?? 200)
  const headers = Object.fromEntries(response.headers)
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': expect.stringContaining('no-store'),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': expect.stringMatching(/^(same-origin|no-referrer)$/),
  })
  const policy = headers['content-security-policy'].split('; ')
  expect(policy).toEqual(expect.arrayContaining([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]))
  expect(headers['content-security-policy']).not.toContain('unsafe')
})

test.each(pages)('$name has every id once, and every label names a control', async (page) => {
  const html = await (await open(page)).text()
  const idsOf = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, id]) => id)
  const ids = idsOf(/ id="([^"]*)"/g)
  const controls = idsOf(/<(?:input|select|textarea)[^>]* id="([^"]*)"/g)

  expect(ids).toEqual([...new Set(ids)])
  expect(idsOf(/<label[^>]* for="([^"]*)"/g).filter((id) => !controls.includes(id))).toEqual([])
})

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 900_000 }, () => {
  const visit = useBrowser()

  test.each(visitors)('every page of visitor %s is accessible, fits the viewport and obeys its policy', async (as) => {
    const visitor = await visit()
    for (const [name, value] of site.browsers[as]?.cookies ?? []) {
      await visitor.context.addCookies([{ name, value, url: grid.url }])
    }
    const found: string[] = []
    for (const { name, path, status = 200 } of pages.filter((page) => (page.as ?? 'owner') === as)) {
      const answer = await visitor.page.goto(grid.url + path(site))
      const faults = [
        ...(answer!.status() === status ? [] : [`answers ${answer!.status()}`]),
        ...await faultsOf(visitor, name),
      ]
      found.push(...faults.map((fault) => `${name}: ${fault}`))
    }

    expect(found).toEqual([])
    await visitor.close()
  })

  test('so are the set-up page of an empty grid, and those of links that have ended', async () => {
    const fresh = await emptyLiveGrid()
    const visitor = await visit()
    await visitor.page.goto(fresh.url + await setUpPath(fresh))

    expect(await faultsOf(visitor, 'set-up')).toEqual([])
    await visitor.page.goto(`${fresh.url}/set-up/${'x'.repeat(43)}`)
    expect(await faultsOf(visitor, 'set-up-ended')).toEqual([])
    const system = { type: 'system', job: 'test' } as const
    await createAccount(fresh.store, { name: 'Acme', ownerEmail: 'ann@acme.example' }, system)
    await visitor.page.reload()
    expect(await faultsOf(visitor, 'set-up-done')).toEqual([])
    await visitor.close()
    await fresh.close()
  })
})
