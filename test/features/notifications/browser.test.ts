/** The service worker in a real browser: its installation, a notification, and a click that opens the conversation. */
import type { CDPSession } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { chooseAlias } from '../../../src/grid/people/person-aliases.ts'
import { hasBrowser, useBrowser, type Visitor } from '../../support/browser.ts'
import { person, signedIn } from '../../support/people.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'

describe.skipIf(!hasBrowser)('notifications in a browser', () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let visitor: Visitor
  let path: string
  beforeEach(async () => {
    // Service workers need a secure context, such as localhost.
    grid = await liveGrid({ host: 'localhost' })
    visitor = await visit()
    const owner = await person(grid, { role: 'owner' })
    await chooseAlias(grid.store.account(grid.acme.id, owner.actor('owner')), { alias: 'ann-lee' })
    const { cookies } = await signedIn(grid, owner)
    await visitor.context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: grid.url })))
    path = `${grid.url}/accounts/${grid.acme.id}/settings/notifications`
  })
  afterEach(async () => {
    await visitor.close()
  })

  test("the service worker shows an incoming notification, within the pages' content security policy", async () => {
    const { page, context, faults } = visitor
    await context.grantPermissions(['notifications'], { origin: grid.url })
    await page.goto(path)
    const cdp = await context.newCDPSession(page)
    const registrationId = await registered(
      cdp,
      () =>
        page.evaluate(
          "navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => 0)",
        ),
    )
    const shown = { title: '@alice', body: 'A new message in Acme', tag: 'a', path: '/accounts/a/conversations/1' }
    // A busy browser may drop a push to a worker that has just started, so the test resends it until it is shown.
    const deliver = () =>
      cdp.send('ServiceWorker.deliverPushMessage', {
        origin: grid.url,
        registrationId,
        data: JSON.stringify(shown),
      })

    const titles = () =>
      page.evaluate<string[]>(`navigator.serviceWorker.ready.then((one) => one.getNotifications())
        .then((all) => all.map(({ title, body, tag, data }) => [title, body, tag, data.path].join(' | ')))`)
    let looks = 0
    await waitFor('the notification', async () => {
      if (looks++ % 200 === 0) await deliver()
      return (await titles()).length > 0
    })
    expect(await titles()).toEqual(['@alice | A new message in Acme | a | /accounts/a/conversations/1'])
    expect(faults).toEqual([])
  })

  test('a person who has denied notifications sees how to allow them, and the browser sends nothing', async () => {
    const { page } = visitor
    await page.goto(path)
    await page.evaluate("Notification.requestPermission = () => Promise.resolve('denied')")
    await page.getByRole('button', { name: 'Turn on in this browser' }).click()
    await page.getByRole('alert').filter({ hasText: 'The browser does not allow this site to notify you.' }).waitFor()

    expect(new URL(page.url()).search).toBe('')
  })

  /** Runs `register` in the page. Resolves to the browser's id of the registration. */
  async function registered(cdp: CDPSession, register: () => Promise<unknown>): Promise<string> {
    const found: string[] = []
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      found.push(...registrations.map(({ registrationId }) => registrationId))
    })
    await cdp.send('ServiceWorker.enable')
    await register()
    await waitFor('the service worker', () => found.length > 0)
    return found[0]
  }
})
