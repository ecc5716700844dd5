/** Complete user flows in a real browser, with and without script. */
import { describe, expect, test } from 'vitest'
import { hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { emailedPath, password } from '../support/people.ts'
import { emptyLiveGrid } from '../support/server.ts'
import { connectCommand } from '../../src/clients/snippets.ts'
import { setUpPath } from '../support/site.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 240_000 }, () => {
  const visit = useBrowser()

  test.each([true, false])(
    'set-up, invitation, role change, removal, claim, new account and sign-in; with script: %s',
    async (withScript) => {
      const grid = await emptyLiveGrid({ env: { DURABILITY: 'relaxed' } })
      const ann = await visit({ withScript })
      const bob = await visit({ withScript })

      await ann.page.goto(grid.url + await setUpPath(grid))
      // The page shows the next steps in the same words as the start page and an empty account.
      await ann.page.getByText(connectCommand(grid.deps.config)).waitFor()
      await fill(ann, { accountName: 'Acme', name: 'Ann', email: 'ann@acme.example', password })
      const home = new URL(ann.page.url()).pathname
      expect(home).toMatch(/^\/accounts\/[\w-]+\/home$/)
      const account = home.replace('/home', '')
      const team = `${grid.url}${account}/settings/team`

      await ann.page.goto(team)
      await ann.page.fill('[name=email]', 'bob@acme.example')
      await ann.page.getByRole('button', { name: 'Invite' }).click()
      await ann.page.getByText('The invitation is on its way').waitFor()

      await bob.page.goto(grid.url + emailedPath(grid))
      await fill(bob, { name: 'Bob', password })
      await bob.page.getByText('Welcome to the account').waitFor()

      await ann.page.goto(team)
      await ann.page.getByLabel('Role of Bob').selectOption('admin')
      await ann.page.getByRole('row', { name: /Bob/ }).getByRole('button', { name: 'Save' }).click()
      await ann.page.getByText('The role has been changed').waitFor()
      await bob.page.goto(team)
      expect(await bob.page.getByRole('button', { name: 'Invite' }).count()).toBe(1)

      const row = ann.page.getByRole('row', { name: /Bob/ })
      await row.locator('summary').click()
      await row.getByRole('button', { name: 'Remove' }).click()
      await ann.page.getByText('has been removed from the account').waitFor()
      expect((await bob.page.goto(team))!.status()).toBe(404)

      const signup = { owner_email: 'ann@acme.example', alias: 'weather' }
      const { trial } = await (await grid.post('/api/v1/agentic-signup', signup)).json()
      await ann.page.goto(grid.url + new URL(trial.claim_url).pathname)
      await ann.page.getByRole('button', { name: 'Claim' }).click()
      await ann.page.getByText('The agents now belong to this account').waitFor()
      expect(await ann.page.locator('main').textContent()).toContain('@weather')

      await ann.page.goto(`${grid.url}/new-account`)
      await fill(ann, { name: 'Second' })
      await ann.page.locator('header details.menu >> nth=0').locator('summary').click()
      await ann.page.locator('header .list').getByRole('link', { name: 'Acme owner', exact: true }).click()
      expect(new URL(ann.page.url()).pathname).toBe(`${account}/home`)
      await ann.page.locator('header details.user summary').click()
      await ann.page.getByRole('button', { name: 'Sign out' }).click()
      await ann.page.goto(grid.url + home)
      expect(new URL(ann.page.url()).pathname).toBe('/sign-in')
      await fill(ann, { email: 'ann@acme.example', password })
      expect(new URL(ann.page.url()).pathname).toBe(home)

      expect([...ann.faults, ...bob.faults]).toEqual([])
      await Promise.all([ann.close(), bob.close()])
      await grid.close()
    },
  )
})

/** Fills in fields by name and presses the first submit button. */
async function fill({ page }: Visitor, fields: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`main [name=${name}]`, value)
  await page.locator('main button[type=submit]').first().click()
  await page.waitForLoadState()
}
