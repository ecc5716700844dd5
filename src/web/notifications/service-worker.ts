/** The files that browsers ask for by name: the service worker, and what makes the grid an application of its own. */
import { icon } from '../../html/assets.ts'
import { manifestPath } from '../../html/html-response.tsx'
import { serviceWorkerScript } from '../../html/scripts/service-worker.ts'
import { staticAnswer } from '../../lib/http/static-answer.ts'
import type { ServedAsset } from '../assets.ts'

/** Browsers ask again: a worker has no hash in its path, because a browser would take another path for another worker. */
const cacheControl = 'no-cache'

/** Shows notifications. Its policy lets it load nothing. */
export const serviceWorker: ServedAsset = {
  path: '/sw.js',
  answer: staticAnswer(() =>
    new Response(serviceWorkerScript, {
      headers: {
        'Content-Type': 'text/javascript; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'",
        'Cache-Control': cacheControl,
      },
    })
  ),
}

/** The manifest of the application. On an iPhone or iPad notifications need it. @see W3C, Web Application Manifest */
export const manifest: ServedAsset = {
  path: manifestPath,
  answer: staticAnswer(() =>
    new Response(
      JSON.stringify({
        name: 'agent-grid',
        short_name: 'agent-grid',
        start_url: '/',
        scope: '/',
        display: 'standalone',
        icons: [{ src: icon.path, type: 'image/svg+xml', sizes: 'any' }],
      }),
      { headers: { 'Content-Type': 'application/manifest+json', 'Cache-Control': cacheControl } },
    )
  ),
}
