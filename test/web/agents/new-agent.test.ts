/** Creating an agent in Chromium, with and without script. `every-page.test.ts` checks every page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, screenshot, useBrowser, type Visitor } from '../../support/browser.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'

const password = 'correct horse battery'
describe.skipIf(!hasBrowser)('in Chromium', { timeout: 120_000 }, () => {
  const visit = useBrowser()
  let grid: LiveGrid
  beforeAll(async () => {
    grid = await liveGrid()
    await grid.setPassword('ann@acme.example', password)
  }, 300_000)
  afterAll(() => grid?.close())

  test.each([true, false])('an agent is created and its key shown; with script: %s', async (withScript) => {
    const visitor = await visit({ withScript })
    const { page } = visitor
    await signIn(visitor)
    await page.goto(`${grid.url}/accounts/${grid.acme.id}/new-agent`)

    expect(await page.locator('[name=remoteUrl]').isVisible()).toBe(false)
    await page.check('[name=type][value=a2a]')
    await page.check('[name=accessPolicy][value=allow_list]')
    await page.fill('[name=remoteUrl]', 'https://partner.example/a2a')
    await page.fill('[name=accessList]', 'eve')
    await page.fill('[name=alias]', `made-${withScript ? 'with' : 'without'}-script`)
    await page.click('text=Create agent')

    expect(await page.locator('#secret-text').textContent()).toMatch(/^grid_agt_/)
    await screenshot(page, `key-${withScript ? 'with' : 'without'}-script`)
    expect(visitor.faults).toEqual([])
    await visitor.close()
  })

  async function signIn({ page }: Visitor): Promise<void> {
    await page.goto(`${grid.url}/sign-in`)
    await page.fill('[name=email]', 'ann@acme.example')
    await page.fill('[name=password]', password)
    await page.click('text=Sign in >> nth=-1')
    await page.waitForURL(/\/accounts\//)
  }
})
