/** A person attaches a file without script, and downloads other people's files. */
import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { themeCookie } from '../../../src/web/theme.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let site: WritingGrid<TestGrid>
beforeEach(async () => {
  site = await writingGrid(await testGrid())
})
afterEach(() => site.close())

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255])

/** Posts a page's form like a browser does, with files. */
async function attach(page: { html: string }, action: string, fields: Record<string, string>, file?: File) {
  const { browser, grid } = site
  const body = new FormData()
  const form = page.html.match(
    new RegExp(`<form[^>]*action="${action}"[^>]*enctype="multipart/form-data"[\\s\\S]*?</form>`),
  )!
  for (const [, name, value] of form[0].matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)) body.set(name, value)
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  body.set('file', file ?? new File([], ''))
  const response = await browser.request(action, { method: 'POST', headers: { Origin: grid.deps.config.appUrl }, body })
  return { status: response.status, at: response.headers.get('location'), text: await response.text() }
}

test('an attached file becomes a part of the message, and a download on the page', async () => {
  const { grid, browser, path, tell } = site
  const asked = await tell(grid.alice, '@ann', 'Which?')
  const thread = path('conversations', asked.thread)

  const sent = await attach(
    await browser.open(thread),
    `${thread}/messages`,
    { text: 'this' },
    new File([png], 'a b.png', { type: 'image/png' }),
  )

  expect(sent.status).toBe(303)
  const [message] = (await callTool(grid, grid.alice.key, 'read_messages')).text
  expect(message).toMatchObject({
    message: 'this',
    parts: [{ filename: 'a b.png', mediaType: 'image/png', bytes: 6, raw: png.toString('base64') }],
  })
  const page = await browser.open(sent.at!)
  expect(page.text).toContain('a b.png image/png, 6 B')
  const href = page.html.match(/href="([^"]+\/parts\/[^"]+)"/)![1]
  // The picture is loaded only when it is opened.
  expect(page.html).toContain(
    `<details class="picture"><summary>Show picture</summary><img src="${href}" alt="a b.png" loading="lazy"/></details>`,
  )
  const file = await browser.request(href)
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': "attachment; filename*=UTF-8''a%20b.png",
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  expect(Buffer.from(await file.arrayBuffer()).equals(png)).toBe(true)
})

test('a form without a file sends only the text, and an HTML file is a download without preview', async () => {
  const { grid, browser, path, tell } = site
  await tell(grid.alice, '@ann', 'Which?')
  const write = await browser.open(path('write?to=%40alice'))

  await attach(write, path('write'), { to: '@alice', text: 'alone' })
  const svg = new File(['<svg onload="alert(1)"/>'], '../x.svg', { type: 'image/svg+xml' })
  const sent = await attach(await browser.open(path('write?to=%40alice')), path('write'), {
    to: '@alice',
    text: 'drawn',
  }, svg)

  const [alone, drawn] = (await callTool(grid, grid.alice.key, 'read_messages')).text
  expect(alone).not.toHaveProperty('parts')
  expect(drawn.parts[0].filename).toMatch(/x\.svg$/)
  const page = await browser.open(sent.at!)
  expect(page.html).not.toContain('Show picture')
  const file = await browser.request(page.html.match(/href="([^"]+\/parts\/[^"]+)"/)![1])
  expect(file.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''x.svg")
})

test('an HTML file is downloaded unchanged, whatever theme the reader has chosen', async () => {
  const { browser, path } = site
  const sent = '<!doctype html><html lang="en"></html>'
  const write = await browser.open(path('write?to=%40alice'))
  const page = new File([sent], 'x.html', { type: 'text/html' })
  const { at } = await attach(write, path('write'), { to: '@alice', text: 'made' }, page)
  browser.cookies.set(themeCookie, 'dark')
  const { html } = await browser.open(at!)

  const file = await browser.request(html.match(/href="([^"]+\/parts\/[^"]+)"/)![1])

  expect(file.headers.get('content-type')).toContain('text/html')
  expect(await file.text()).toBe(sent)
})

test('a file that is too large is refused', async () => {
  const { browser, path } = site
  const page = await browser.open(path('write?to=%40alice'))
  const large = new File([new Uint8Array(5 * 2 ** 20)], 'x')

  expect((await attach(page, path('write'), { to: '@alice', text: 'x' }, large)).status).toBe(413)
})
