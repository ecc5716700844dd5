/** Single sign-on in a browser, with the provider on another site. */
import { describe, expect, test } from 'vitest'
import { recordOf } from '../../../src/features/single-sign-on/provider.ts'
import { ssoTables } from '../../../src/features/single-sign-on/store.ts'
import { hasBrowser, screenshot, useBrowser } from '../../support/browser.ts'
import { clientId, clientSecret, startOidc } from '../../support/oidc.ts'
import { person, signedIn } from '../../support/people.ts'
import { postWithToken } from '../../support/roles.ts'
import { liveGrid } from '../../support/server.ts'

describe.skipIf(!hasBrowser)('single sign-on in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()

  test("an employee signs in from the sign-in page and reaches the company's account", async () => {
    const server = await startOidc()
    server.serve([])
    const records: string[] = []
    const grid = await liveGrid({
      host: 'localhost',
      env: { ALLOW_PRIVATE_TARGETS: '1' },
      resolveTxt: () => Promise.resolve(records),
    })
    grid.clock.now = Date.now()
    const { page, faults } = await visit()
    await page.goto(`${grid.url}/sign-in`)
    expect(await page.getByRole('link', { name: 'with your company' }).count()).toBe(0)

    const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
    const card = `/accounts/${grid.acme.id}/settings/account/sso`
    const provider = { name: 'Corp', issuer: server.issuer, clientId, clientSecret, domain: 'corp.example' }
    await postWithToken(owner, card, provider)
    const saved = (await grid.acme.store.feature(ssoTables).read.get())!
    records.push(recordOf(saved))
    await postWithToken(owner, `${card}/verify`)
    server.serve([`${grid.url}/sso/${saved.id}/callback`])

    await page.goto(`${grid.url}/sign-in`)
    await screenshot(page, 'sso-sign-in')
    await page.getByRole('link', { name: 'with your company' }).click()
    await page.getByLabel('Email').fill('una@corp.example')
    await screenshot(page, 'sso-email')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('link', { name: 'Go on to Corp' }).click()
    await page.waitForURL(`${grid.url}/accounts/${grid.acme.id}**`)
    await screenshot(page, 'sso-home')
    expect(faults).toEqual([])
  })
})
