/** Notifies people of messages in their browsers and by email. See docs/web.md, "Notifications". */
import type { Feature } from '../../feature.ts'
import { second } from '../../lib/time.ts'
import type { Route } from '../../request-context.ts'
import { servedAsset } from '../../web/assets.ts'
import { sendDigests } from './due-digests.ts'
import { pushScript, serviceWorker } from './page-script.ts'
import { notices, notificationPages, publicNotificationPages, settingsTab, unsubscribeFromDigest } from './pages.tsx'
import { batchMs, PushNotifier, quietMs } from './push-notifier.ts'
import { allNotifications } from './store.ts'

export const notifications: Feature = {
  name: 'notifications',
  routes: (store) => [
    ...[serviceWorker, servedAsset(pushScript)].map(({ path, answer }) =>
      ['GET', path, (c) => answer(c.req.raw)] satisfies Route
    ),
    ['POST', '/unsubscribe/:token', unsubscribeFromDigest(store)],
  ],
  web: {
    pages: notificationPages,
    publicPages: publicNotificationPages,
    settingsTab,
    script: pushScript,
    notices: Object.values(notices),
  },
  // Starts at the stored position, so that a person is notified of a message only once.
  followers: (store) => {
    const { noteMessages, noteEvents } = store.feature(allNotifications)
    const delays = { quietMs, batchMs }
    return [
      {
        name: 'browser messages',
        isPlaced: true,
        // Gathering delays no notification, because notifications are sent after at least 5 s.
        gatherMs: second,
        statements: (batch) => [noteMessages(batch, delays)],
      },
      { name: 'browser events', statements: (batch) => noteEvents(batch, delays) },
    ]
  },
  news: (store, messages, { after, at }) => [
    store.feature(allNotifications).noteNews(messages.map(({ seq }) => seq), after, { at, quietMs }),
  ],
  duties: (store, stopping) => {
    const notifier = new PushNotifier(store, stopping)
    return [
      { name: 'notices', run: () => notifier.run(), settled: () => notifier.settled() },
      { name: 'digests', run: () => sendDigests(store, stopping) },
    ]
  },
}
