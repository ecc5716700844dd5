import { fetchingScript, freshScript } from './live/fresh.ts'
import { messagesScript } from './live/messages.ts'
import { streamScript } from './live/stream.ts'

/** Announces new items on an open page, at most every 5 s, and shows that updates are paused. */
const sayScript = `
function liveSayer() {
  const status = document.createElement('p')
  status.className = 'unseen'
  status.setAttribute('role', 'status')
  const paused = document.createElement('p')
  paused.className = 'live-paused'
  paused.setAttribute('role', 'status')
  document.body.append(status)
  document.querySelector('.head').append(paused)

  let saidAt = 0, toSay = '', sayTimer
  function say(text) {
    toSay = text
    clearTimeout(sayTimer)
    sayTimer = setTimeout(() => { status.textContent = toSay; saidAt = performance.now() }, Math.max(0, saidAt + 5000 - performance.now()))
  }
  const isPaused = () => paused.hasChildNodes()
  function showPaused(nowPaused) {
    if (nowPaused === isPaused()) return
    paused.textContent = nowPaused ? 'Updates paused. ' : ''
    if (!nowPaused) return say('Updates are back.')
    const link = document.createElement('a')
    link.href = location.href
    link.textContent = 'Reload'
    paused.append(link)
  }
  return { say, isPaused, showPaused }
}
`

/**
 * Keeps open pages up to date with events from a stream. See docs/web.md, "Open pages".
 *
 * - `data-live="ACCOUNT"` around the content: the account that the page belongs to.
 * - `data-thread="T"` and `data-seq="N"` on a list of messages: see `live/messages.ts`.
 * - `data-fresh="thread presence …"` on an element with an id: see `live/fresh.ts`. `data-seq` is the newest message
 *   that it includes. `data-unread` is the number of messages that the user has not read.
 * - `data-count` on an element that shows how many items need the user, and is hidden if there are none.
 */
export const liveScript = sayScript + fetchingScript + freshScript + messagesScript + streamScript + `
function live(root) {
  const account = root.dataset.live
  const say = liveSayer()
  const list = root.querySelector('[data-thread]')
  const messages = list && liveMessages(root, list, account, say.say)
  const fresh = freshParts(root, () => {
    // A conversation that was empty when the page was loaded now has messages.
    if (!list && root.querySelector('[data-thread]')) location.reload()
    else watchAnew()
  })
  // The newest message that the page includes. Undefined if the page does not state it.
  const seqs = [...root.querySelectorAll('[data-seq]')].map(one => Number(one.dataset.seq))
  let known = seqs.length > 0 ? Math.max(...seqs) : undefined
  let unread = root.querySelector('[data-unread]')?.dataset.unread
  let needs
  const counts = document.querySelectorAll('[data-count]')

  function isCounted(data) {
    if (unread !== undefined && Number(unread) !== data.unread) fresh.isNews('count')
    unread = data.unread
    if (data.attention === undefined) return
    const text = data.attention > 99 ? '99+' : String(data.attention)
    // The first event may repeat the count that the page already shows.
    if (needs !== undefined || (counts[0]?.firstChild?.data ?? '0') !== text) fresh.isNews('attention')
    needs = data.attention
    for (const one of counts) {
      const open = document.createElement('span')
      open.className = 'unseen'
      open.textContent = 'open'
      one.replaceChildren(...needs > 0 ? [text, open] : [])
      one.hidden = needs === 0
      one.classList.toggle('urgent', data.urgent === true)
    }
  }
  // The stream reports only later changes, so parts that may have changed since the page was rendered are reloaded. If
  // the page is new, a part that reloads every minute waits for its next reload.
  function hasBegun(seq) {
    const isNew = performance.now() < 5000
    for (const one of ['presence', 'state']) fresh.isNews(one, isNew)
    if (known === undefined) fresh.isNews('thread')
    known ??= seq
    messages?.lookAtOpen()
  }
  function heard(name, data) {
    if (data.a !== undefined && data.a !== account) return
    const isHere = data.t === messages?.thread
    if (name === 'hello') {
      say.showPaused(false)
      hasBegun(data.seq)
    } else if (name === 'thread') {
      if (isHere && !messages.isShown(data.seq)) messages.readOn()
      if (data.seq <= known) return
      known = data.seq
      fresh.isNews('thread')
    } else if (name === 'state') {
      if (isHere) messages.haveChanged(data.ids)
      if (fresh.threads().includes(data.t)) fresh.isNews('state')
    } else if (name === 'presence') fresh.isNews('presence:' + data.agent)
    else if (name === 'count') isCounted(data)
    else if (name === 'resync') {
      for (const one of ['thread', 'state', 'presence', 'count', 'attention']) fresh.isNews(one)
      messages?.readOn()
    } else if (name === 'bye') say.showPaused(true)
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return
    fresh.goOn()
    messages?.goOn()
  })
  const threads = () => [...messages ? [messages.thread] : [], ...fresh.threads()]
  const watchAnew = sharedStream({
    account,
    watch: () => [account, ...threads().map(thread => account + ':' + thread)],
    known: () => known,
    heard,
    hasBegun,
    say,
  })
}
const liveRoot = document.querySelector('[data-live]')
if (liveRoot?.querySelector('[data-thread], [data-fresh]') && self.EventSource) live(liveRoot)
`
