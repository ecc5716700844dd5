/** Passkeys in Chromium with a virtual authenticator. See docs/people.md, "Signing in". */
import type { CDPSession } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { hasBrowser, useBrowser, type Visitor } from '../../support/browser.ts'
import { arrivalOf, password, person, signedIn } from '../../support/people.ts'
import { addPasskey } from '../../support/second-factor.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let url: string
  let visitor: Visitor
  let cdp: CDPSession
  beforeEach(async () => {
    // Passkeys need a host name, and browsers trust `localhost` without TLS.
    grid = await liveGrid({ env: { DURABILITY: 'relaxed' }, host: 'localhost' })
    url = grid.url
    visitor = await visit()
    cdp = await visitor.context.newCDPSession(visitor.page)
    await cdp.send('WebAuthn.enable')
  }, 300_000)
  afterEach(async () => {
    await visitor?.close()
    await grid?.close()
  })

  const home = () => `${url}/accounts/${grid.acme.id}`
  const security = () => `${home()}/settings/security`

  async function authenticator(): Promise<string> {
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    return authenticatorId
  }

  /** Signs in as an owner and adds a passkey in this browser. */
  async function annWithPasskey() {
    const ann = await person(grid, { role: 'owner' })
    const authenticatorId = await authenticator()
    const { cookies } = await signedIn(grid, ann)
    for (const [name, value] of cookies) await visitor.context.addCookies([{ name, value, url }])
    const { page } = visitor
    await page.goto(`${security()}/passkeys/new`)
    await page.fill('input[name=name]', 'Laptop')
    await Promise.all([page.waitForURL(/security\?(shown|done)=/), page.click('text=Add passkey')])
    return { ann, authenticatorId }
  }

  async function openPasskeySignIn(): Promise<void> {
    await visitor.page.goto(`${url}/sign-in`)
    await visitor.page.click('text=Sign in with a passkey')
  }

  async function signInByPassword({ email }: { email: string }): Promise<void> {
    const { page, context } = visitor
    await context.clearCookies()
    await page.goto(`${url}/sign-in`)
    await page.fill('input[name=email]', email)
    await page.fill('input[name=password]', password)
    await Promise.all([page.waitForURL(/second-factor/), page.click('button:text-is("Sign in")')])
  }

  test('a passkey can be registered, is sufficient for signing in, and is required after a password', async () => {
    const { page } = visitor
    const { ann } = await annWithPasskey()
    expect(await page.textContent('#secret-text')).toMatch(/^([2-9a-z]{4}(-[2-9a-z]{4}){3}\n?){10}$/)
    await page.goto(security())
    expect(await page.textContent('#passkeys')).toContain('Laptop')

    await visitor.context.clearCookies()
    await page.goto(`${url}/sign-in?next=${encodeURIComponent(`/accounts/${grid.acme.id}/agents`)}`)
    await Promise.all([page.waitForURL(`${home()}/agents`), page.click('text=Sign in with a passkey')])

    await signInByPassword(ann)
    await Promise.all([page.waitForURL(url + arrivalOf(grid.acme)), page.click('text=Use a passkey')])
    expect(visitor.faults).toEqual([])
  })

  test('a passkey can confirm a change after ten minutes', async () => {
    const { page } = visitor
    await annWithPasskey()
    grid.clock.now += 11 * minute
    await page.goto(`${home()}/settings/account/keys`)
    await page.fill('#key-name', 'deployment')
    await Promise.all([page.waitForURL(/confirm/), page.click('text=Generate admin key')])
    // The change that waited for the confirmation is made.
    await Promise.all([page.waitForURL(/settings\/account\/keys\?shown=/), page.click('text=Use a passkey')])
    expect(await page.textContent('#secret-text')).toMatch(/^grid_adm_/)
  })

  test('a device can register only one passkey, and a removed passkey cannot sign in', async () => {
    const { page } = visitor
    await annWithPasskey()
    await page.goto(`${security()}/passkeys/new`)
    await page.click('text=Add passkey')
    await page.waitForSelector('text=This device has a passkey of yours already.')

    await page.goto(security())
    await page.click('#passkeys summary')
    await Promise.all([page.waitForURL(/done=passkey-removed/), page.click('#passkeys form button')])
    await visitor.context.clearCookies()
    await openPasskeySignIn()
    await page.waitForSelector('text=The passkey was not accepted. Try again.')
  })

  test('a passkey that is removed while its response is checked cannot sign in', async () => {
    const { page } = visitor
    await annWithPasskey()
    await visitor.context.clearCookies()
    const { write } = grid.store
    vi.spyOn(grid.store, 'write').mockImplementation(async (statements) => {
      if (statements.some(({ sql }) => sql.startsWith('UPDATE passkeys'))) {
        await write([{ sql: 'DELETE FROM passkeys', args: [], rows: 0 }])
      }
      return await write(statements)
    })

    await openPasskeySignIn()
    await page.waitForSelector('text=The passkey was not accepted. Try again.')
  })

  test('a passkey that is not unlocked cannot be used', async () => {
    const { page } = visitor
    const { authenticatorId } = await annWithPasskey()
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await visitor.context.clearCookies()
    await openPasskeySignIn()

    await page.waitForSelector('text=No passkey was used. Try again.')
  })

  test('a passkey response is valid once, for its user, browser and purpose, within five minutes', async () => {
    const { page } = visitor
    const { ann } = await annWithPasskey()
    const bob = await person(grid, { role: 'owner' })
    // Bob needs a second factor too, but never uses this passkey.
    await addPasskey(grid, bob, 'Phone')
    await visitor.context.clearCookies()
    await page.addInitScript(
      'HTMLFormElement.prototype.submit = function () { window.answer = this.elements.passkey.value }',
    )

    /** Gets the response to a new challenge without sending it. */
    const answered = async () => {
      await openPasskeySignIn()
      const passkey = await waitFor('the answer', () => page.evaluate<string | undefined>('window.answer'))
      return { passkey, csrf: (await page.getAttribute('form[data-passkey] input[name=csrf]', 'value'))! }
    }
    /** Returns a browser with the page's cookies. */
    const sameBrowser = async () => {
      const one = browser(grid)
      for (const { name, value } of await visitor.context.cookies(url)) one.cookies.set(name, value)
      return one
    }

    const late = await answered()
    grid.clock.now += 5 * minute
    expect((await (await sameBrowser()).post('/passkey/sign-in', late)).status).toBe(400)

    const fields = await answered()
    const stranger = browser(grid)
    const csrf = (await stranger.open('/sign-in')).html.match(/name="csrf" value="([^"]+)"/)![1]
    expect((await stranger.post('/passkey/sign-in', { ...fields, csrf })).status).toBe(400)
    for (const { email } of [ann, bob]) {
      const half = await sameBrowser()
      expect((await half.signIn(email, password)).at).toBe('/second-factor')
      expect((await half.post('/second-factor/passkey', fields)).status).toBe(400)
    }

    expect((await (await sameBrowser()).post('/passkey/sign-in', fields)).at).toBe(arrivalOf(grid.acme))
    expect((await (await sameBrowser()).post('/passkey/sign-in', fields)).status).toBe(400)
  })

  test('a passkey cannot be used for another user', async () => {
    const { page } = visitor
    const { ann } = await annWithPasskey()
    const bob = await person(grid, { role: 'owner' })
    await addPasskey(grid, bob, 'Phone')
    // The page asks for Bob's passkey, but this browser responds with Ann's.
    await page.addInitScript(`{
      const { get } = CredentialsContainer.prototype
      CredentialsContainer.prototype.get = function (options) {
        options.publicKey.allowCredentials = []
        return get.call(this, options)
      }
    }`)

    await signInByPassword(bob)
    await page.click('text=Use a passkey')
    await page.waitForSelector('text=The passkey was not accepted. Try again.')
    await page.goto(home())
    expect(page.url()).toMatch(/second-factor/)

    await signInByPassword(ann)
    await Promise.all([page.waitForURL(url + arrivalOf(grid.acme)), page.click('text=Use a passkey')])
  })
})
