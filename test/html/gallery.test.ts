/** Every component in a real browser: both colour schemes, desktop and phone. `SCREENSHOTS=1` keeps pictures. */
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { finish } from '../../src/edge.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { listen } from '../../src/listen.ts'
import { assets, serveAsset } from '../../src/web/assets.ts'
import { accessibilityFaults, hasBrowser, screenshot, useBrowser, viewports } from '../support/browser.ts'
import { gallery } from '../support/gallery.tsx'

const schemes = ['light', 'dark'] as const
const sizes = Object.keys(viewports) as (keyof typeof viewports)[]

describe.skipIf(!hasBrowser)('the gallery', { timeout: 60_000 }, () => {
  const visit = useBrowser()
  let url: string
  let close: () => Promise<unknown>
  beforeAll(async () => {
    const app = new Hono()
    for (const asset of assets) app.get(asset.path, () => serveAsset(asset))
    for (const [path, page] of Object.entries(gallery)) app.get(path, async () => finish(await page(), 'test'))
    const port = await freePort()
    const server = await listen((request) => app.fetch(request), { port, host: '127.0.0.1' })
    url = `http://127.0.0.1:${port}`
    close = () => server.stop(1_000)
  })
  afterAll(() => close())

  test.each(
    Object.keys(gallery).flatMap((path) => schemes.flatMap((scheme) => sizes.map((size) => ({ path, scheme, size })))),
  )(
    '$path is accessible, fits and breaks no rule of its policy ($scheme, $size)',
    async ({ path, scheme, size }) => {
      const { page, faults, close } = await visit({ scheme, viewport: size })
      await page.goto(url + path)
      await screenshot(page, `${path.slice(1).replace('/', '-')}-${size}-${scheme}`)

      expect(await accessibilityFaults(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      expect(faults).toEqual([])
      await close()
    },
  )
})
