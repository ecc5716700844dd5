/** Static files: what pages load, and what browsers ask for by name. */
import { type Asset, icon, pageScript, styleSheet } from '../html/assets.ts'
import { manifestPath } from '../html/html-response.tsx'
import { staticAnswer } from '../lib/http/static-answer.ts'

interface ServedAsset {
  path: string
  answer(request: Request): Promise<Response>
}

/** The style sheet, the script and the icon of all pages. They are public and contain no user data. */
export const assets: ServedAsset[] = [styleSheet, pageScript, icon].map((asset) => ({
  path: asset.path,
  answer: staticAnswer(() => asResponse(asset)),
}))

/** Cached forever: when the content changes, so does the path. */
function asResponse({ type, text }: Asset): Response {
  return new Response(text, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable' },
  })
}

/**
 * The service worker, which runs while no page is open. It shows the notifications that the grid sends, and a click opens
 * what they are about. It keeps nothing and answers no requests of pages.
 */
const serviceWorkerScript = `'use strict'
addEventListener('install', () => skipWaiting())
addEventListener('activate', event => event.waitUntil(clients.claim()))
addEventListener('push', event => {
  const { title, body, tag, path } = event.data.json()
  event.waitUntil(registration.showNotification(title, { body, tag, icon: '${icon.path}', data: { path } }))
})
addEventListener('notificationclick', event => {
  event.notification.close()
  event.waitUntil(open(new URL(event.notification.data.path, location.origin).href))
})
async function open(url) {
  const windows = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  const same = windows.find(one => one.url === url)
  if (same) return await same.focus()
  return await clients.openWindow(url)
}
`

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
