import { icon } from '../assets.ts'

/**
 * The service worker, which runs while no page is open. It shows the notifications that the grid sends, and a click opens
 * what they are about. It keeps nothing and answers no requests of pages.
 */
export const serviceWorkerScript = `'use strict'
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
