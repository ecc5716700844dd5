/**
 * The consent page in a real browser: accessibility, names, the delay of Allow, and redirects. See docs/security.md,
 * "OAuth".
 */
import { renameAccount } from '../../src/grid/accounts/accounts.ts'
import { codeChallengeOf } from '../../src/lib/secrets.ts'
import { faultsOf, hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { chooseEntry, openAccountPicker } from '../support/consent-browser.ts'
import { callbackServer } from '../support/oauth-client.ts'
import { verifier } from '../support/oauth.ts'
import { membership, password, type Person, person } from '../support/people.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const remoteCallback = 'https://client.example/callback'

describe.skipIf(!hasBrowser)('the consent page', { timeout: 120_000 }, () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let ann: { email: string; password: string }
  let many: Person
  beforeAll(async () => {
    grid = await liveGrid()
    ann = { email: 'ann@acme.example', password }
    await grid.setPassword(ann.email, password)
    await renameAccount(
      grid.store.account(grid.evil.id, (await person(grid, { role: 'owner', account: grid.evil })).actor('owner')),
      { name: 'Acme) [Admin' },
    )
    many = await person(grid, { role: 'admin', account: grid.evil, email: 'mona@acme.example' })
    await grid.store.write([membership(grid.store, grid.acme.id, many.id, 'owner', grid.clock.now)])
    for (let n = 0; n < 50; n++) await grid.evil.agent(`worker-${n}`)
  })
  afterAll(async () => {
    await grid?.close()
  })

  const pages: Record<string, { of: () => { email: string }; client: string; redirect: string }> = {
    few: { of: () => ann, client: 'Claude Code', redirect: 'http://localhost:4100/callback' },
    many: { of: () => many, client: 'Acme Workbench', redirect: remoteCallback },
  }

  test.each(Object.entries(pages))(
    'the consent page with %s entries is accessible and fits the screen',
    async (name, { of, client, redirect }) => {
      const visitor = await visit()
      await openAccountPicker(visitor.page, await authorizeUrl(redirect, client), { ...of(), password })

      expect(await faultsOf(visitor, `consent-${name}`)).toEqual([])
      expect(await visitor.page.getByRole('heading', { level: 1 }).innerText()).toContain(new URL(redirect).host)
      await visitor.close()
    },
  )

  test('an account name that imitates the Admin badge is shown unchanged, and the real badge is a separate element', async () => {
    const { page, close } = await visit()
    await openAccountPicker(page, await authorizeUrl(remoteCallback), { ...many, password })

    const entry = page.locator('label.choice', { hasText: '@admin (Acme) [Admin)' })
    expect(await entry.locator('.badge').innerText()).toBe('Admin')
    expect(await page.locator('label.choice', { has: page.locator('.badge') }).count()).toBe(2)
    await close()
  })

  test('the consent page disables Allow for the first half second', async () => {
    const { page, close } = await visit()
    const url = await authorizeUrl(remoteCallback)
    await openAccountPicker(page, url, { ...many, password })
    await page.clock.install({ time: Date.now() })
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.goto(url)
    const allow = page.getByRole('button', { name: 'Allow' })

    expect(await allow.isDisabled()).toBe(true)
    await page.clock.runFor(499)
    expect(await allow.isDisabled()).toBe(true)
    await page.clock.runFor(1)
    expect(await allow.isEnabled()).toBe(true)
    await close()
  })

  test.each(['127.0.0.1', '[::1]'])('the consent page redirects to a callback on %s', async (host) => {
    const callback = await callbackServer(host)
    const visitor = await visit()

    const { status, location } = await allowed(visitor, callback.url)

    expect(status).toBe(303)
    expect((await callback.next()).get('code')).toBe(new URL(location).searchParams.get('code'))
    await visitor.page.waitForURL((url) => url.href.startsWith(callback.url))
    expect(visitor.faults).toEqual([])
    await visitor.close()
    await callback.close()
  })

  test('the consent page redirects to an application by its scheme', async () => {
    const redirect = 'cursor://anysphere.cursor-mcp/oauth/callback'
    const visitor = await visit()

    const { status, location } = await allowed(visitor, redirect)

    expect(status).toBe(303)
    expect(location).toMatch(`${redirect}?code=`)
    expect(visitor.faults).toEqual([])
    await visitor.close()
  })

  /** Chooses an agent and presses Allow. */
  async function allowed({ page }: Visitor, redirect: string) {
    await openAccountPicker(page, await authorizeUrl(redirect), ann)
    await chooseEntry(page, '@alice')
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.request().method() === 'POST'),
      page.getByRole('button', { name: 'Allow' }).click(),
    ])
    return { status: answer.status(), location: answer.headers().location }
  }

  async function authorizeUrl(redirect: string, name = 'Demo'): Promise<string> {
    const registered = await fetch(`${grid.url}/oauth/register`, {
      method: 'POST',
      body: JSON.stringify({ client_name: name, redirect_uris: [redirect] }),
    })
    const query = {
      response_type: 'code',
      client_id: (await registered.json()).client_id,
      redirect_uri: redirect,
      code_challenge: codeChallengeOf(verifier)!,
      code_challenge_method: 'S256',
      state: 'x7',
    }
    return `${grid.url}/oauth/authorize?${new URLSearchParams(query)}`
  }
})
