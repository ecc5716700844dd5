/** Names as long as they may be, and of scripts written from right to left, break no page. */
import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, screenshot, useBrowser, type VisitOptions } from '../support/browser.ts'
import { layoutFaults } from '../support/layout.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { pagesOf, type SeededSite, seedSite, type SitePage, type VisitorName } from '../support/site.ts'

/** SQL assignments for the names and texts of an account, and what they take in their order. */
const fields: Record<string, [sets: string, ...takes: ('name' | 'text')[]]> = {
  agents: ['description = ?', 'text'],
  credentials: ['name = ?', 'name'],
  skills: ['name = substr(?, 1, 60) || substr(id, -4), description = ?', 'name', 'text'],
  channels: ['description = ?', 'text'],
  guardrails: ['name = substr(?, 1, 60) || substr(id, -4)', 'name'],
}
const namesOfAll = ['users', 'accounts', 'oauth_clients']

const rightToLeft = 'חברת הרובוטים (בע״מ) 2026'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 600_000 }, () => {
  let grid: LiveGrid
  let site: SeededSite
  let pages: SitePage[]
  beforeAll(async () => {
    grid = await liveGrid({ host: 'localhost', env: { DURABILITY: 'relaxed', SIGNUP_PER_HOUR: '1000' } })
    site = await seedSite(grid)
    pages = await pagesOf(grid, site)
    await grid.acme.agent('w'.repeat(32))
  }, 120_000)
  const visit = useBrowser()

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

  async function open(as: VisitorName, options?: VisitOptions) {
    const visitor = await visit(options)
    for (const [name, value] of site.browsers[as]?.cookies ?? []) {
      await visitor.context.addCookies([{ name, value, url: grid.url }])
    }
    return visitor
  }

  test('every page fits its window, also the narrowest', async () => {
    await storeEverywhere(`${rightToLeft} ${'W'.repeat(54)}`)
    const found: string[] = []
    for (const as of ['nobody', 'owner', 'viewer'] as const) {
      const visitor = await open(as)
      for (const { name: title, path } of pages.filter((page) => (page.as ?? 'owner') === as)) {
        await visitor.page.goto(grid.url + path(site))
        for (const width of [320, 1280]) {
          await visitor.page.setViewportSize({ width, height: 800 })
          const faults = await layoutFaults(visitor.page)
          found.push(...faults.map((fault) => `${title}, ${width}: ${fault}`))
          await screenshot(visitor.page, `long-${title}-${width}`)
        }
      }
      await visitor.close()
    }

    expect(found).toEqual([])
  })

  test('a name from right to left does not move what is next to it', async () => {
    await storeEverywhere(rightToLeft)
    const { page, close } = await open('owner')
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
})
