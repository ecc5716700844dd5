/** Every page, as everybody who may see it. `npm run screenshots` keeps pictures of all of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browser } from '../support/browse.ts'
import { accessibilityFaults, hasBrowser, screenshot, useBrowser, type Visit } from '../support/browser.ts'
import { furnish, type Furnished, pages, setUpPath, type SitePage, withoutPage } from '../support/site.ts'
import { emptyLiveGrid, type LiveGrid, liveGrid } from '../support/server.ts'

let grid: LiveGrid
let site: Furnished
beforeAll(async () => {
  grid = await liveGrid({ env: { DURABILITY: 'relaxed', SIGNUP_PER_HOUR: '1000' } })
  site = await furnish(grid)
}, 120_000)
afterAll(() => grid?.close())

const open = ({ as = 'owner', path }: SitePage) => (site.browsers[as] ?? browser(grid)).request(path(site))

test('every registered page is in the list', () => {
  const answersHtml = (path: string) =>
    !/^\/(\.well-known|a2a|api|mcp|assets|healthz|readyz)\b|^\/\*$|\.well-known/.test(path)
  const routes = grid.app.routes.filter(({ method, path }) => method === 'GET' && answersHtml(path))

  const listed = [...pages.map(({ route }) => route), ...Object.keys(withoutPage)]
  expect([...new Set(routes.map(({ path }) => path))].sort()).toEqual([...new Set(listed)].sort())
})

test.each(pages)('$name is answered as a page that nobody frames, keeps or guesses at', async (page) => {
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

const views: Required<Pick<Visit, 'scheme' | 'viewport'>>[] = [
  { scheme: 'light', viewport: 'desktop' },
  { scheme: 'dark', viewport: 'phone' },
]
if (process.env.SCREENSHOTS) views.push({ scheme: 'dark', viewport: 'desktop' }, { scheme: 'light', viewport: 'phone' })

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()

  test.each(views)('every page is accessible, fits and keeps its policy ($scheme, $viewport)', async (view) => {
    const found: string[] = []
    const waiting = [...pages]
    await Promise.all(Array.from({ length: 3 }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) found.push(...await faultsOf(next, view))
    }))

    expect(found).toEqual([])
  })

  test.each(views)('so is the first page of an empty grid ($scheme, $viewport)', async (view) => {
    const fresh = await emptyLiveGrid()
    const { page, faults, close } = await visit(view)
    await page.goto(fresh.url + await setUpPath(fresh))
    await screenshot(page, `set-up-${view.viewport}-${view.scheme}`)

    expect(await accessibilityFaults(page)).toEqual([])
    expect(faults).toEqual([])
    await close()
    await fresh.close()
  })

  async function faultsOf({ name, as = 'owner', path, status = 200 }: SitePage, view: Visit): Promise<string[]> {
    const { page, context, faults, close } = await visit(view)
    for (const [name, value] of site.browsers[as]?.cookies ?? []) {
      await context.addCookies([{ name, value, url: grid.url }])
    }
    const answer = await page.goto(grid.url + path(site))
    await screenshot(page, `${name}-${view.viewport}-${view.scheme}`)
    const excess = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'))
    const found = [
      ...(answer!.status() === status ? [] : [`answers ${answer!.status()}`]),
      ...(excess > 0 ? [`is ${excess} px too wide`] : []),
      ...await accessibilityFaults(page),
      ...faults,
    ]
    await close()
    return found.map((fault) => `${name}: ${fault}`)
  }
})
