/** Serves the gallery over HTTP. */
import { Hono } from 'hono'
import { freePort } from '../../src/lib/free-port.ts'
import { ResponseHeaders } from '../../src/lib/http/response-headers.ts'
import { listen } from '../../src/listen.ts'
import { assets } from '../../src/web/assets.ts'
import { gallery } from './gallery.tsx'

interface SubmittedForm {
  path: string
  origin: string | null
  fields: Record<string, string>
}

/** Starts a server for the gallery pages. `posted` collects the submitted forms. */
export async function serveGallery() {
  const posted: SubmittedForm[] = []
  const app = new Hono()
  const responseHeaders = new ResponseHeaders(false)
  for (const { path, answer } of assets) app.get(path, (c) => answer(c.req.raw))
  for (const [path, page] of Object.entries(gallery)) {
    app.get(path, async () => responseHeaders.finish(await page(), 'test'))
  }
  app.post('*', async (c) => {
    const fields = await c.req.parseBody() as Record<string, string>
    posted.push({ path: c.req.path, origin: c.req.header('origin') ?? null, fields })
    return c.redirect('/channels', 303)
  })
  const port = await freePort()
  const server = await listen((request) => app.fetch(request), { port, host: '127.0.0.1' })
  return { url: `http://127.0.0.1:${port}`, posted, close: () => server.stop(1_000) }
}
