/** The script's enhancements, and pages without it. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { accessibilityFaults, hasBrowser, useBrowser, type VisitOptions, type Visitor } from '../support/browser.ts'
import { layoutFaults } from '../support/layout.ts'
import { serveScriptPages } from '../support/script-pages.tsx'
import { waitFor } from '../support/wait-for.ts'

describe.skipIf(!hasBrowser)('pages in a browser', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let server: Awaited<ReturnType<typeof serveScriptPages>>
  /** One visitor for each kind of browser. They can be reused, because the pages store nothing in the browser. */
  const visitors = new Map<string, Visitor>()
  let visitor: Visitor
  beforeAll(async () => {
    server = await serveScriptPages()
  })
  afterAll(async () => {
    for (const { close } of visitors.values()) await close()
    await server?.close()
  })
  afterEach(() => {
    server.posted.length = 0
    expect(visitor.faults.splice(0)).toEqual([])
  })

  async function open(path: string, options: VisitOptions = {}): Promise<Page> {
    const kind = JSON.stringify({ withScript: true, ...options })
    visitor = visitors.get(kind) ?? await visit(options)
    visitors.set(kind, visitor)
    await visitor.page.goto(server.url + path)
    return visitor.page
  }
  const hasFocus = 'document.activeElement.textContent'

  describe('pages with script', () => {
    test('the Copy button copies the text and confirms it', async () => {
      const page = await open('/secret')
      await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])

      await page.getByRole('button', { name: 'Copy Admin key' }).click()

      await page.getByText('Copied', { exact: true }).waitFor()
      expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^agadm_7Qm3/)
    })

    test('menus open by keyboard, and close on Escape or a click outside', async () => {
      const page = await open('/agent')
      const menu = page.locator('details.menu').first()
      await menu.locator('summary').focus()
      await page.keyboard.press('Enter')
      expect(await accessibilityFaults(page)).toEqual([])
      await page.keyboard.press('Tab')
      expect(await page.evaluate(hasFocus)).toContain('Acme Robotics')

      await page.keyboard.press('Escape')
      expect(await menu.getAttribute('open')).toBeNull()
      expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY')

      await menu.locator('summary').click()
      await page.locator('h1').click()
      expect(await menu.getAttribute('open')).toBeNull()
    })

    test('the consent button is disabled for half a second after the page loads or regains focus', async () => {
      const page = await open('/sign-in')
      const allow = page.getByRole('button', { name: 'Sign in' })
      await waitFor('the enabled button', () => allow.isEnabled())

      const comeBack = "dispatchEvent(new Event('focus')); document.querySelector('[data-wait]').disabled"
      expect(await page.evaluate(comeBack)).toBe(true)

      await page.locator('#password').fill('correct horse')
      await allow.click()
      await page.waitForURL('**/agent?posted')
      expect(server.posted).toMatchObject([{ path: '/sign-in', fields: { decision: 'allow' } }])
    })

    test('the Show password button shows and hides the password', async () => {
      const page = await open('/sign-in')
      const field = page.locator('#password')

      await page.getByRole('button', { name: 'Show password' }).click()
      expect(await field.getAttribute('type')).toBe('text')

      await page.getByRole('button', { name: 'Show password' }).click()
      expect(await field.getAttribute('type')).toBe('password')
    })

    test('the save button appears only after a change', async () => {
      const page = await open('/agent')
      const save = page.locator('button', { hasText: 'Save role' })
      expect(await save.isVisible()).toBe(false)

      await page.locator('[name=role]').selectOption('viewer')
      expect(await save.isVisible()).toBe(true)

      await page.locator('[name=role]').selectOption('member')
      expect(await save.isVisible()).toBe(false)
    })

    test('a form that is submitted twice is sent once', async () => {
      const page = await open('/sign-in')
      await page.locator('#password').fill('correct horse')

      await page.evaluate("const form = document.querySelector('form'); form.requestSubmit(); form.requestSubmit()")

      await page.waitForURL('**/agent?posted')
      expect(server.posted).toHaveLength(1)
    })

    test("a time is shown in the reader's zone, and in UTC on hover", async () => {
      const page = await open('/agent', { timeZone: 'Asia/Tokyo' })
      const time = page.locator('time[data-local]')

      expect(await time.textContent()).toBe('22 Nov 2026, 00:24')
      expect(await time.getAttribute('title')).toBe('2026-11-21 15:24:00 UTC')
    })
  })

  describe.each([true, false])('pages with script: %s', (withScript) => {
    test("a form is sent with the page's own Origin and the CSRF token", async () => {
      const page = await open('/sign-in', { withScript })
      await page.locator('#password').fill('correct horse')

      await page.getByRole('button', { name: 'Sign in' }).click()

      await page.waitForURL('**/agent?posted')
      expect(server.posted).toEqual([{
        path: '/sign-in',
        origin: server.url,
        fields: {
          csrf: 'token-of-the-session',
          email: 'ann@acme.example',
          password: 'correct horse',
          decision: 'allow',
        },
      }])
    })

    test('a deletion takes two steps', async () => {
      const page = await open('/agent', { withScript })
      const row = page.locator('details.confirm')
      await row.locator('summary').click()
      expect(server.posted).toEqual([])

      await row.getByRole('button', { name: 'Delete' }).click()

      await page.waitForURL('**/agent?posted')
      expect(server.posted).toMatchObject([{ path: '/agent/delete' }])
    })

    test('the menus switch accounts and sign out', async () => {
      const page = await open('/agent', { withScript })
      await page.locator('details.menu').first().locator('summary').click()
      await page.getByRole('link', { name: 'Ann at home' }).click()
      await page.waitForURL('**/accounts/a2')

      await page.goBack()
      await page.locator('details.user summary').click()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL('**/agent?posted')

      expect(server.posted).toMatchObject([{ path: '/sign-out', fields: { csrf: 'token-of-the-session' } }])
    })

    test('on a phone, every section can be reached from the bottom of the screen', async () => {
      const page = await open('/agent', { withScript, viewport: 'small' })
      const bar = page.locator('nav.bottom')
      expect(await page.locator('nav.side').isVisible()).toBe(false)
      expect(await bar.locator('a:visible').allTextContents()).toEqual([
        'Home',
        'Conversations',
        'Attention',
        'Search',
      ])

      await bar.locator('summary').click()
      if (withScript) expect([...await accessibilityFaults(page), ...await layoutFaults(page)]).toEqual([])
      await bar.getByRole('link', { name: 'Guardrails' }).click()

      await page.waitForURL('**/accounts/a1/guardrails')
    })

    test('both header menus fit the narrowest window', async () => {
      const page = await open('/agent', { withScript, viewport: 'small' })

      for (const menu of ['details.menu:not(.user)', 'details.user']) {
        const list = page.locator(`header ${menu}`)
        await list.locator('summary').click()
        if (withScript) expect(await layoutFaults(page)).toEqual([])
        const { x, width } = (await list.locator('.list').boundingBox())!
        expect(x >= 0 && x + width <= 320).toBe(true)
        await list.locator('summary').click()
      }
    })

    test('the skip link leads to the content', async () => {
      const page = await open('/agent', { withScript })

      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')

      expect(page.url()).toMatch(/#content$/)
    })
  })

  describe('pages without script', () => {
    test('elements that need the script are not shown without it', async () => {
      const page = await open('/sign-in', { withScript: false })
      expect(await page.getByRole('button', { name: 'Show password' }).isVisible()).toBe(false)

      await page.goto(`${server.url}/agent`)
      expect(await page.getByRole('button', { name: 'Save role' }).isVisible()).toBe(true)
    })
  })
})
