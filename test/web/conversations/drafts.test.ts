/** Drafts are stored until they are sent, and sent only once. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasBrowser, useBrowser, type Visitor } from '../../support/browser.ts'
import { rows } from '../../support/database.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { signIn, type WritingGrid, writingGrid } from '../../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ host: 'localhost', env: { DURABILITY: 'relaxed' } }))
  })
  afterAll(() => site?.close())

  let thread: string
  let visitor: Visitor
  beforeEach(async () => {
    const asked = await site.tell(site.grid.alice, '@ann', 'Ready?')
    thread = site.grid.url + site.path('conversations', asked.thread)
    visitor = await visit()
    await signIn(visitor, site.browser, site.grid.url)
    await visitor.page.goto(thread)
    return () => visitor.close()
  })

  const field = (page: Page) => page.getByLabel('To @alice')
  const typed = (page: Page) => field(page).inputValue()
  const stored = async (text: string) => {
    const sql = 'SELECT 1 FROM messages WHERE account_id = ? AND body = ?'
    return (await rows(site.grid, sql, [site.grid.acme.id, text])).length
  }

  test('in the composer, Enter adds a line, and Ctrl+Enter sends, also on a Mac keyboard', async () => {
    const { page, faults } = visitor
    for (const [key, text] of [['Control+Enter', 'with Ctrl'], ['Meta+Enter', 'with Cmd']]) {
      await field(page).click()
      await page.keyboard.type('first line')
      await page.keyboard.press('Enter')
      await page.keyboard.type(text)
      expect(await typed(page)).toBe(`first line\n${text}`)

      await Promise.all([page.waitForURL(/#m\d+$/), page.keyboard.press(key)])

      await page.getByText(text, { exact: false }).last().waitFor()
      expect(await stored(`first line\n${text}`)).toBe(1)
      expect(await typed(page)).toBe('')
      await page.goto(thread)
    }
    expect(faults).toEqual([])
  })

  test('while the grid does not respond, the page keeps the text with a notice, and later sends it once', async () => {
    const { page, context } = visitor
    await field(page).fill('through a tunnel')
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Not sent: the grid does not answer.').waitFor()
    expect(page.url()).toBe(thread)
    expect(await typed(page)).toBe('through a tunnel')
    expect(await page.locator('button[aria-disabled]').count()).toBe(0)

    await context.setOffline(false)
    await Promise.all([page.waitForURL(/#m\d+$/), page.getByRole('button', { name: 'Send' }).click()])
    expect(await stored('through a tunnel')).toBe(1)
  })

  test('Enter does not send while an input method is composing', async () => {
    const { page, context } = visitor
    const devtools = await context.newCDPSession(page)
    await field(page).click()
    await devtools.send('Input.imeSetComposition', { text: 'にほん', selectionStart: 3, selectionEnd: 3 })
    // The events that browsers send while an input method shows candidates, including those of older browsers.
    const prevented = await page.evaluate(`[{ isComposing: true }, { keyCode: 229 }].map(how =>
      !document.activeElement.dispatchEvent(new KeyboardEvent('keydown',
        { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true, ...how })))`)
    expect(prevented).toEqual([false, false])
    expect(page.url()).toBe(thread)

    await devtools.send('Input.insertText', { text: '日本' })
    expect(await typed(page)).toBe('日本')
    await Promise.all([page.waitForURL(/#m\d+$/), page.keyboard.press('Control+Enter')])
    expect(await stored('日本')).toBe(1)
  })

  test('a draft survives a reload and another page, and is removed when it is sent', async () => {
    const { page } = visitor
    await field(page).fill('not yet')
    await page.reload()
    expect(await typed(page)).toBe('not yet')
    await page.goto(`${site.grid.url}${site.path('write')}`)
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('')
    await page.goto(thread)
    expect(await typed(page)).toBe('not yet')

    await Promise.all([page.waitForURL(/#m\d+$/), page.getByRole('button', { name: 'Send' }).click()])

    expect(await typed(page)).toBe('')
    await page.goto(thread)
    expect(await typed(page)).toBe('')
  })

  test('a draft is kept when its message is refused, and when the server is unreachable', async () => {
    const { page } = visitor
    const long = 'a'.repeat(10_001)
    await field(page).fill(long)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.composer .error').waitFor()
    expect(await typed(page)).toBe(long)
    await page.goto(thread)
    expect(await typed(page)).toBe(long)

    await field(page).fill('hello?')
    await page.route('**/messages', (route) => route.abort())
    await Promise.all([page.waitForEvent('requestfailed'), page.getByRole('button', { name: 'Send' }).click()])
    await page.unroute('**/messages')
    await page.goto(thread)
    expect(await typed(page)).toBe('hello?')
  })

  test('two tabs share a draft, and a tab with a different text keeps its own', async () => {
    const { page, context } = visitor
    const other = await context.newPage()
    await other.goto(thread)
    const isIn = (page: Page, text: string) =>
      waitFor(`the draft ${text}`, async () => (await typed(page)) === text || undefined)

    await field(page).fill('from the first')
    await isIn(other, 'from the first')
    await field(other).fill('from the first and second')
    await isIn(page, 'from the first and second')
    await Promise.all([page.waitForURL(/#m\d+$/), page.getByRole('button', { name: 'Send' }).click()])
    await isIn(other, '')
    expect(await stored('from the first and second')).toBe(1)

    // A tab whose text differs from the draft keeps its own text.
    await other.evaluate(`document.querySelector('textarea[data-draft]').value = 'mine'; 0`)
    await field(page).fill('yours')
    await page.reload()
    expect(await typed(page)).toBe('yours')
    expect(await typed(other)).toBe('mine')
  })

  test('files can be dropped, pasted and removed, and a text that is copied with a picture is pasted as text', async () => {
    const { page, faults } = visitor
    const give = (type: string, selector: string, files: [name: string, bytes: number][], text = '') =>
      page.evaluate(`(() => {
        const given = new DataTransfer()
        for (const [name, bytes] of ${JSON.stringify(files)}) given.items.add(new File([new Uint8Array(bytes)], name))
        if (${JSON.stringify(text)}) given.setData('text/plain', ${JSON.stringify(text)})
        const event = '${type}' === 'paste' ? new ClipboardEvent('paste', { clipboardData: given, bubbles: true, cancelable: true })
          : new DragEvent('${type}', { dataTransfer: given, bubbles: true, cancelable: true })
        return document.querySelector('${selector}').dispatchEvent(event)
      })()`)
    const chips = page.locator('.chip')
    await give('drop', 'header', [['a.csv', 12], ['b.csv', 34]])
    await give('paste', 'textarea', [['shot.png', 2_345]])
    expect(await give('paste', 'textarea', [['cells.png', 1]], 'cells')).toBe(true)
    expect(await chips.allTextContents()).toEqual(['a.csv 12 B×', 'b.csv 34 B×', 'shot.png 2.3 kB×'])
    await page.getByRole('button', { name: 'Remove b.csv' }).click()

    await give('drop', 'header', [['huge.iso', 5 * 2 ** 20]])
    await page.getByText('At most 4 MiB fit in a message.').waitFor()
    await field(page).fill('with files')
    await page.getByRole('button', { name: 'Send' }).click()
    expect(page.url()).toBe(thread)
    await page.getByRole('button', { name: 'Remove huge.iso' }).click()
    await Promise.all([page.waitForURL(/#m\d+$/), page.getByRole('button', { name: 'Send' }).click()])

    const found = await page.locator('.messages > li', { hasText: 'with files' }).innerText()
    expect(found).toMatch(/a\.csv[^]*shot\.png/)
    expect(found).not.toMatch(/b\.csv|huge|cells/)
    expect(faults).toEqual([])
  })

  test('drafts are removed with the session, and hidden from other people', async () => {
    const { page } = visitor
    await field(page).fill('a secret')
    const kept = () => page.evaluate('Object.keys(localStorage).length')
    expect(await kept()).toBe(1)

    await page.locator('summary', { hasText: 'Your menu:' }).click()
    const [response] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/sign-out')),
      page.getByRole('button', { name: 'Sign out' }).click(),
    ])

    expect((await response.allHeaders())['clear-site-data']).toBe('"storage"')
    await page.waitForLoadState()
    expect(await kept()).toBe(0)
  })
})
