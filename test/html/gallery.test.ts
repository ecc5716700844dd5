/** Every component in a real browser: both colour schemes, desktop and phone. `SCREENSHOTS=1` keeps pictures. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accessibilityFaults, hasBrowser, screenshot, useBrowser, viewports } from '../support/browser.ts'
import { gallery } from '../support/gallery.tsx'
import { serveGallery } from '../support/gallery-server.ts'

const schemes = ['light', 'dark'] as const
const sizes = Object.keys(viewports) as (keyof typeof viewports)[]

describe.skipIf(!hasBrowser)('the gallery', { timeout: 60_000 }, () => {
  const visit = useBrowser()
  let server: Awaited<ReturnType<typeof serveGallery>>
  beforeAll(async () => {
    server = await serveGallery()
  })
  afterAll(() => server?.close())

  test.each(
    Object.keys(gallery).flatMap((path) => schemes.flatMap((scheme) => sizes.map((size) => ({ path, scheme, size })))),
  )(
    '$path is accessible, fits and breaks no rule of its policy ($scheme, $size)',
    async ({ path, scheme, size }) => {
      const { page, faults, close } = await visit({ scheme, viewport: size })
      await page.goto(server.url + path)
      await screenshot(page, `${path.slice(1).replace('/', '-')}-${size}-${scheme}`)

      expect(await accessibilityFaults(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      expect(faults).toEqual([])
      await close()
    },
  )
})
