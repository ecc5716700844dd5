import { beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, useBrowser } from '../../support/browser.ts'
import { mcp } from '../../support/mcp.ts'
import { password, type Person, person } from '../../support/people.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'

describe.skipIf(!hasBrowser)('in a real browser', () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let owner: Person
  beforeAll(async () => {
    grid = await liveGrid({ env: { DURABILITY: 'relaxed' } })
    owner = await person(grid, { role: 'owner', name: 'Olga' })
  })

  test.each([true, false])(
    'a user creates an admin key, sees it once, and disables it by deleting it; with script: %s',
    async (withScript) => {
      const { page, faults, close } = await visit({ withScript })
      await page.goto(
        `${grid.url}/sign-in?next=${encodeURIComponent(`/accounts/${grid.acme.id}/settings/account/keys`)}`,
      )
      await page.fill('[name=email]', owner.email)
      await page.fill('[name=password]', password)
      await page.click('main button[type=submit]')

      await page.fill('#key-name', 'deployment')
      await page.click('text=Generate admin key')
      const dialog = page.locator('dialog[open]')
      const key = await dialog.locator('#secret-text').textContent()
      for (
        const client of ['Claude Code', 'Codex', 'Gemini CLI', 'Cursor', 'VS Code', 'opencode', 'Any other MCP client']
      ) {
        const use = await dialog.locator('.fold', { has: page.getByText(client, { exact: true }) }).textContent()
        expect(use).toContain(`Bearer ${key}`)
        expect(use).toContain('agent-grid-admin')
      }
      await dialog.getByRole('button', { name: 'I have copied it' }).click()
      await dialog.waitFor({ state: 'hidden' })

      expect(key).toMatch(/^grid_adm_\w{49}$/)
      expect(page.url()).not.toContain('grid_adm')
      await page.goto(`${grid.url}/accounts/${grid.acme.id}/settings/account/keys`)
      expect(await page.content()).not.toContain(key)
      expect(await page.locator('#admin-keys').textContent()).toContain(`…${key!.slice(-4)}`)

      expect((await mcp(grid, key!, 'tools/list')).status).toBe(200)
      const row = page.locator('#admin-keys tr', { hasText: key!.slice(-4) })
      await row.locator('summary').click()
      await row.getByRole('button', { name: 'Delete' }).click()
      await page.getByText('The admin key has been deleted').waitFor()
      expect((await mcp(grid, key!, 'tools/list')).status).toBe(401)
      expect(faults).toEqual([])
      await close()
    },
  )
})
