/** Every component in a real browser: both colour schemes, desktop and phone. `SCREENSHOTS=1` saves screenshots. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf, hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { serveGallery } from '../support/gallery-server.ts'
import { gallery } from '../support/gallery.tsx'

describe.skipIf(!hasBrowser)('the gallery', { timeout: 120_000 }, () => {
  const visit = useBrowser()
  let server: Awaited<ReturnType<typeof serveGallery>>
  let visitor: Visitor
  beforeAll(async () => {
    server = await serveGallery()
    visitor = await visit()
  })
  afterAll(async () => {
    await visitor?.close()
    await server?.close()
  })

  test.each(Object.keys(gallery))('%s is accessible, fits the viewport and obeys its policy', async (path) => {
    await visitor.page.goto(server.url + path)

    expect(await faultsOf(visitor, `gallery${path.replaceAll('/', '-')}`)).toEqual([])
  })
})
