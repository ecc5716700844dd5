/** The gallery behind a listening server. */
import { Hono } from 'hono'
import { freePort } from '../../src/lib/free-port.ts'
import { Answers } from '../../src/lib/response-headers.ts'
import { listen } from '../../src/listen.ts'
import { assets, serveAsset } from '../../src/web/assets.ts'
import { gallery } from './gallery.tsx'

export interface Posted {
  path: string
  origin: string | null
  fields: Record<string, string>
}

/** Serves the pages of the gallery; forms that arrive are kept in `posted`. */
export async function serveGallery() {
  const posted: Posted[] = []
  const app = new Hono()
  const answers = new Answers(false)
  for (const asset of assets) app.get(asset.path, () => serveAsset(asset))
  for (const [path, page] of Object.entries(gallery)) app.get(path, async () => answers.finish(await page(), 'test'))
  app.post('*', async (c) => {
    const fields = await c.req.parseBody() as Record<string, string>
    posted.push({ path: c.req.path, origin: c.req.header('origin') ?? null, fields })
    return c.redirect('/channels', 303)
  })
  const port = await freePort()
  const server = await listen((request) => app.fetch(request), { port, host: '127.0.0.1' })
  return { url: `http://127.0.0.1:${port}`, posted, close: () => server.stop(1_000) }
}
