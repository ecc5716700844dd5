/** Manages the browsers that notify a person of messages to their alias. See docs/web.md, "Notifications". */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { authorize } from '../../grid/authorize.ts'
import { callingPersonAlias } from '../../grid/people/person-aliases.ts'
import { retryOnConflict } from '../../grid/retry-on-conflict.ts'
import { newId } from '../../lib/id.ts'
import { parseAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { takePushTest } from './limits.ts'
import { publicPushKey, type PushResult, sendPush } from './send-push.ts'
import { allNotifications, notificationTables, type PushSubscription } from './store.ts'

const maxBrowsers = 10
const maxUserAgentLength = 200
/** After this many abandoned notifications in a row, a browser is no longer notified. */
const maxFailures = 5

/** The subscription as the browser reports it: `PushSubscription.toJSON()`. */
interface NewSubscription {
  endpoint: string
  p256dh: string
  auth: string
  userAgent: string
}

export async function listBrowsers(account: AccountStore): Promise<PushSubscription[]> {
  return await account.feature(notificationTables).read.subscriptions(callingUser(account.actor).userId)
}

/** Starts notifying the calling user's browser. Removes other users' subscriptions in the same browser. */
export async function subscribe(store: Store, account: AccountStore, input: NewSubscription): Promise<void> {
  const { userId, sessionId } = callingUser(account.actor)
  const { endpoint, p256dh, auth } = checked(account, input)
  const userAgent = input.userAgent.slice(0, maxUserAgentLength)
  await publicPushKey(store)
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'use')
    const personAlias = await callingPersonAlias(account)
    const known = await listBrowsers(account)
    if (known.length >= maxBrowsers && !known.some((browser) => browser.endpoint === endpoint)) {
      throw new GridError('invalid_input', `You can be notified in at most ${maxBrowsers} browsers. Remove one first.`)
    }
    await account.write([
      ...precondition,
      account.change.personAliases.requirePersonAlias(userId, personAlias.agentId),
      store.feature(allNotifications).removeOthers(endpoint, userId),
      account.feature(notificationTables).change.subscribe(
        { id: newId(), user: userId, session: sessionId, endpoint, p256dh, auth, userAgent },
        account.deps.now(),
      ),
    ])
  })
}

/** The expected lengths are those of a P-256 point and of a 16-byte secret. @see RFC 8291 §3.1 and §3.2 */
function checked({ deps }: AccountStore, { endpoint, p256dh, auth }: NewSubscription) {
  const isKey = /^B[\w-]{86}$/.test(p256dh) && /^[\w-]{22}$/.test(auth)
  if (isKey && parseAllowedTarget(endpoint, deps.config)) return { endpoint, p256dh, auth }
  throw new GridError('invalid_input', 'This grid cannot use the push service of this browser.')
}

export async function unsubscribe(account: AccountStore, id: string): Promise<void> {
  const { userId } = callingUser(account.actor)
  const [removed] = await account.write([account.feature(notificationTables).change.unsubscribe(userId, id)])
  if (removed.length === 0) throw new GridError('not_found', 'Notifications are already off in this browser.')
}

/** Ties the browser's subscriptions to this session, so that they end with it. */
export async function renewBrowser(
  store: Store,
  { user, sessionId }: { user: { id: string }; sessionId: string },
  endpoint: string,
): Promise<void> {
  const [renewed] = await store.write([store.feature(allNotifications).renew(endpoint, user.id, sessionId)])
  if (renewed.length === 0) throw new GridError('not_found', 'Notifications are off in this browser.')
}

/** Sends a notification to each of the calling user's browsers. `sent` counts those that push services accepted. */
export async function testNotifications(
  store: Store,
  account: AccountStore,
  { id, name }: { id: string; name: string },
): Promise<{ sent: number; browsers: number }> {
  await callingPersonAlias(account)
  const browsers = await listBrowsers(account)
  if (browsers.length === 0) {
    throw new GridError('invalid_input', 'You have not turned on notifications in any browser yet.')
  }
  await takePushTest(store, id, callingUser(account.actor).userId)
  const path = `/accounts/${id}/settings/notifications`
  const test = { title: 'It works', body: `You are notified of messages to you in ${name}.`, tag: 'test', path }
  const results = await Promise.all(browsers.map(async (browser) => {
    const result = await sendPush(store, browser, test)
    await recordResult(account, browser.id, result)
    return result
  }))
  return { sent: results.filter(({ outcome }) => outcome === 'sent').length, browsers: browsers.length }
}

/** Records the result of a notification. Removes the browser if its subscription is gone or has failed repeatedly. */
export async function recordResult(account: AccountStore, browser: string, { outcome }: PushResult): Promise<void> {
  const { change: notifications } = account.feature(notificationTables)
  if (outcome === 'gone') await account.write([notifications.removeGone(browser)])
  if (outcome === 'sent') await account.write([notifications.succeed(browser, account.deps.now())])
  if (outcome === 'failed') await account.write(notifications.fail(browser, maxFailures))
}
