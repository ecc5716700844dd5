/** Browser scripts that subscribe to notifications and show them. */
import { asset, icon } from '../../html/assets.ts'
import { staticAnswer } from '../../lib/http/static-answer.ts'
import type { ServedAsset } from '../../web/assets.ts'

/**
 * Subscribes to notifications. `<form data-push="KEY">` requests a subscription for this public key from the browser,
 * fills in the fields `endpoint`, `p256dh` and `auth`, and submits itself. Errors are shown in the element named by
 * `data-error`.
 *
 * Once per session, a subscribed browser confirms to the grid that its user is still signed in. If this user has no
 * subscription, for example because someone else has signed in, the browser unsubscribes.
 */
export const pushScript = asset(
  'js',
  'text/javascript',
  `'use strict'
const keyBytes = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), one => one.charCodeAt(0))
async function subscribeWith(manager, key) {
  const options = { userVisibleOnly: true, applicationServerKey: keyBytes(key) }
  try {
    return await manager.subscribe(options)
  } catch (reason) {
    const old = reason.name === 'InvalidStateError' && await manager.getSubscription()
    if (!old) throw reason
    // Of another key: the grid has a new one.
    await old.unsubscribe()
    return await manager.subscribe(options)
  }
}
async function askForPush(form) {
  const error = byId(form.dataset.error)
  const say = text => { error.textContent = text; error.hidden = false }
  error.hidden = true
  if (!('serviceWorker' in navigator && 'PushManager' in self && 'Notification' in self)) {
    return say('This browser cannot show notifications here. They need HTTPS and, on an iPhone or iPad, the home screen.')
  }
  try {
    if (await Notification.requestPermission() !== 'granted') {
      return say('The browser does not allow this site to notify you. Allow it in the settings of the browser, and try again.')
    }
    await navigator.serviceWorker.register('/sw.js')
    const { pushManager } = await navigator.serviceWorker.ready
    const { endpoint, keys } = (await subscribeWith(pushManager, form.dataset.push)).toJSON()
    form.elements.endpoint.value = endpoint
    form.elements.p256dh.value = keys.p256dh
    form.elements.auth.value = keys.auth
    form.submit()
  } catch {
    say('The push service of this browser gave no address. Try again later.')
  }
}
document.addEventListener('submit', event => {
  if (!event.target.dataset.push) return
  event.preventDefault()
  askForPush(event.target)
})

async function renewPush(csrf) {
  const registration = await navigator.serviceWorker.getRegistration('/')
  const subscription = await registration?.pushManager?.getSubscription()
  if (!subscription) return
  const answer = await fetch('/notifications/renew', {
    method: 'POST',
    headers: { 'X-By-Itself': 'yes' },
    body: new URLSearchParams({ csrf, endpoint: subscription.endpoint }),
  })
  if (answer.status === 404) await subscription.unsubscribe()
  if (answer.ok || answer.status === 404) sessionStorage.setItem('renewed', csrf)
}
const sessionForm = document.querySelector('form[action="/sign-out"]')?.elements.csrf.value
if (sessionForm && 'serviceWorker' in navigator && sessionStorage.getItem('renewed') !== sessionForm) {
  renewPush(sessionForm).catch(() => {})
}
`,
)

/**
 * The service worker, which runs while no page is open. It shows the grid's notifications. A click on a notification
 * opens its page. The worker caches nothing and handles no page requests.
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

/**
 * Serves the service worker. Its policy forbids it to load anything. The path contains no hash, because a new path
 * would register a second worker. Browsers check the script for updates themselves.
 */
export const serviceWorker: ServedAsset = {
  path: '/sw.js',
  answer: staticAnswer(() =>
    new Response(serviceWorkerScript, {
      headers: {
        'Content-Type': 'text/javascript; charset=utf-8',
        'Content-Security-Policy': "default-src 'none'",
        'Cache-Control': 'no-cache',
      },
    })
  ),
}
