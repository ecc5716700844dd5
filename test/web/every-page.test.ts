/**
 * Every page, for every kind of visitor who may see it, with names of maximum length and in a right-to-left script.
 * `npm run screenshots` saves screenshots of all pages, with the seeded names.
 */
import process from 'node:process'
import { beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import { themeCookie } from '../../src/web/theme.ts'
import { browser } from '../support/browse.ts'
import { faultsOf, hasBrowser, useBrowser, type View, views } from '../support/browser.ts'
import { parametersOf } from '../support/crawl.ts'
import { isLong } from '../support/long.ts'
import { emptyLiveGrid, type LiveGrid, liveGrid } from '../support/server.ts'
import {
  pagesOf,
  type SeededSite,
  seedSite,
  setUpPath,
  type SitePage,
  type VisitorName,
  visitors,
} from '../support/site.ts'

/** SQL assignments for an account's names and texts, with their arguments in order. */
const fields: Record<string, [sets: string, ...takes: ('name' | 'text')[]]> = {
  agents: ['description = ?', 'text'],
  credentials: ['name = ?', 'name'],
  skills: ['name = substr(?, 1, 60) || substr(id, -4), description = ?', 'name', 'text'],
  channels: ['description = ?', 'text'],
  guardrails: ['name = substr(?, 1, 60) || substr(id, -4)', 'name'],
}
/**
 * The views in which each visitor sees the pages. Axe examines signed-in pages in a wide window for the owner, in a
 * narrow window for the beginner, and in the long form also for the viewer. The short form omits the viewer, whose
 * pages are the owner's with fewer controls.
 */
const [desktop, phone] = views
const small: View = { scheme: 'dark', viewport: 'small' }
const viewsOf: Record<VisitorName, View[]> = {
  nobody: isLong ? [desktop, small] : [small],
  half: isLong ? [desktop, small] : [small],
  owner: isLong ? [desktop, { ...small, isLayoutOnly: true }] : [desktop],
  viewer: isLong ? [phone] : [{ ...phone, isLayoutOnly: true }],
  beginner: [small],
}

const namesOfAll = ['users', 'accounts', 'oauth_clients']
const rightToLeft = 'חברת הרובוטים (בע״מ) 2026'

let grid: LiveGrid
let site: SeededSite
let pages: SitePage[]
beforeAll(async () => {
  // Passkeys need a host name instead of an IP address.
  grid = await liveGrid({ host: 'localhost', env: { DURABILITY: 'relaxed', SIGNUP_PER_HOUR: '1000' } })
  site = await seedSite(grid)
  pages = await pagesOf(grid, site)
  await grid.acme.agent('w'.repeat(32))
  if (!process.env.SCREENSHOTS) await storeEverywhere(`${rightToLeft} ${'W'.repeat(54)}`)
}, 120_000)

async function storeEverywhere(name: string): Promise<void> {
  const given = { name, text: name.repeat(10).slice(0, 500) }
  await grid.store.write([
    ...Object.entries(fields).map(([table, [sets, ...takes]]) => ({
      sql: `UPDATE "${table}" SET ${sets} WHERE "account_id" = ?`,
      args: [...takes.map((what) => given[what]), grid.acme.id],
    })),
    ...namesOfAll.map((table) => ({ sql: `UPDATE "${table}" SET name = ?`, args: [name] })),
  ])
}

test('every page of an account can be reached by links, and other routes redirect or return parts of pages', async () => {
  const routes = new Set(grid.app.routes.flatMap(({ method, path }) => method === 'GET' ? [path] : []))
  const below = [...routes].filter((path) => path.startsWith('/accounts/:account'))
  const known = Object.assign({}, ...pages.map(({ route, path }) => parametersOf(route, path(site).split('?')[0])))
  const found: string[] = []
  for (const route of below.filter((route) => !pages.some((page) => page.route === route))) {
    const path = route.replace(/:(\w+)/g, (_, name) => ({ ...known, account: site.account, part: '0' })[name])
    const { status, headers } = await site.browsers.owner!.request(path)
    const isPage = status === 200 && headers.get('content-type')?.startsWith('text/html')
    if (isPage || status >= 500) found.push(`${path}: ${status}`)
  }

  expect(found).toEqual([])
})

// See docs/security.md, "Requests".
test('every page has security headers, no compression, unique ids and labelled controls', async () => {
  for (const { name, status = 200, as = 'owner', path } of pages) {
    const one = site.browsers[as] ?? browser(grid)
    const response = await one.request(path(site), { headers: { 'Accept-Encoding': 'gzip, br' } })
    const headers = Object.fromEntries(response.headers)

    expect(response.status, name).toBe(status)
    // The welcome page is the same for everybody, so it may be compressed.
    expect(headers['content-encoding'], name).toBe(name === 'welcome' ? 'br' : undefined)
    expect(headers, name).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': expect.stringContaining('no-store'),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': expect.stringMatching(/^(same-origin|no-referrer)$/),
    })
    expect(headers['content-security-policy'].split('; '), name).toEqual(expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]))
    expect(headers['content-security-policy'], name).not.toContain('unsafe')
    if (name === 'welcome') continue
    const html = await response.text()
    // The content security policy would refuse these.
    expect(html, name).not.toMatch(/\sstyle=|<style|\son\w+=|<script(?! src=)|javascript:/)
    const idsOf = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, id]) => id)
    const ids = idsOf(/ id="([^"]*)"/g)
    const controls = idsOf(/<(?:input|select|textarea)[^>]* id="([^"]*)"/g)
    expect(ids, name).toEqual([...new Set(ids)])
    expect(idsOf(/<label[^>]* for="([^"]*)"/g).filter((id) => !controls.includes(id)), name).toEqual([])
  }
})

test('every page uses the theme chosen in its browser, with or without a session', async () => {
  for (const { name, as = 'owner', path } of pages) {
    const one = site.browsers[as] ?? browser(grid)
    one.cookies.set(themeCookie, 'dark')
    const answer = await one.request(path(site), { headers: { 'Accept': 'text/html', 'Accept-Encoding': 'br' } })
    one.cookies.delete(themeCookie)
    const html = await answer.text()

    expect(html, name).toContain('<html lang="en" data-theme="dark">')
    expect(html, name).toContain('<meta name="color-scheme" content="dark"')
  }
})

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 900_000 }, () => {
  const visit = useBrowser()

  test.each(visitors)('every page of visitor %s is accessible, fits the viewport and obeys its policy', async (as) => {
    const visitor = await visit()
    for (const [name, value] of site.browsers[as]?.cookies ?? []) {
      await visitor.context.addCookies([{ name, value, url: grid.url }])
    }
    const seen = process.env.SCREENSHOTS ? views : viewsOf[as]
    const found: string[] = []
    for (const { name, path, status = 200 } of pages.filter((page) => (page.as ?? 'owner') === as)) {
      const answer = await visitor.page.goto(grid.url + path(site))
      const faults = [
        ...(answer!.status() === status ? [] : [`answers ${answer!.status()}`]),
        ...await faultsOf(visitor, name, seen),
      ]
      found.push(...faults.map((fault) => `${name}: ${fault}`))
    }

    expect(found).toEqual([])
    await visitor.close()
  })

  test('a right-to-left name does not move its neighbours', async () => {
    await storeEverywhere(rightToLeft)
    const { page, context, close } = await visit()
    for (const [name, value] of site.browsers.owner!.cookies) {
      await context.addCookies([{ name, value, url: grid.url }])
    }
    const account = `${grid.url}/accounts/${grid.acme.id}`
    const isBefore = async (first: string, second: string) => {
      const [one, other] = await Promise.all([first, second].map((text) => page.locator(text).first().boundingBox()))
      return one!.x + one!.width <= other!.x
    }

    await page.goto(`${account}/settings/team`)
    expect(await isBefore('.who:has(.badge) bdi', '.who .badge')).toBe(true)
    const newSkill = `/accounts/${grid.acme.id}/skills/new`
    await site.browsers.owner!.submit(newSkill, { name: 'reading' })
    await page.goto(`${account}/activity`)
    expect(await isBefore('td bdi', 'td bdi + .soft')).toBe(true)
    await close()
  })

  test('set-up pages and pages of expired links are accessible and fit the viewport', async () => {
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
  })
})
