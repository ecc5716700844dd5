/** Every component in a real browser: both colour schemes, desktop and phone. `SCREENSHOTS=1` keeps pictures. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accessibilityFaults, hasBrowser, screenshot, useBrowser, type Visit } from '../support/browser.ts'
import { gallery } from '../support/gallery.tsx'
import { serveGallery } from '../support/gallery-server.ts'

/** Each scheme and each size once; for pictures, all four. */
const views: Required<Pick<Visit, 'scheme' | 'viewport'>>[] = [
  { scheme: 'light', viewport: 'desktop' },
  { scheme: 'dark', viewport: 'phone' },
]
if (process.env.SCREENSHOTS) views.push({ scheme: 'dark', viewport: 'desktop' }, { scheme: 'light', viewport: 'phone' })

describe.skipIf(!hasBrowser)('the gallery', { timeout: 60_000 }, () => {
  const visit = useBrowser()
  let server: Awaited<ReturnType<typeof serveGallery>>
  beforeAll(async () => {
    server = await serveGallery()
  })
  afterAll(() => server?.close())

  test.each(Object.keys(gallery).flatMap((path) => views.map((view) => ({ path, ...view }))))(
    '$path is accessible, fits and breaks no rule of its policy ($scheme, $viewport)',
    async ({ path, scheme, viewport }) => {
      const { page, faults, close } = await visit({ scheme, viewport })
      await page.goto(server.url + path)
      await screenshot(page, `${path.slice(1).replace('/', '-') || 'welcome'}-${viewport}-${scheme}`)

      expect(await accessibilityFaults(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      expect(faults).toEqual([])
      await close()
    },
  )
})
