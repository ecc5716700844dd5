/**
 * The part of the script that keeps pages up to date. The tabs of a browser share one stream: the one that holds the lock
 * `live` opens it for all of them. Without locks, which need HTTPS, each tab has its own.
 *
 * - `data-live="ACCOUNT"` around the content: the page belongs to this account.
 * - `data-thread="T"` and `data-seq="N"` on a list of messages: those after `N` are put behind it, while the reader is near
 *   its end; otherwise a button says how many there are. What becomes of its messages is shown.
 * - `data-glance` around it: the messages are shown beside a list, and do not count as seen.
 * - `data-fresh="thread presence count"` on an element with an id: fetched again after events of these names. What the user
 *   has opened in it stays open, and the focus stays where it is. `data-seq`: what was said up to there is in it.
 */
export const liveScript = `
function live(root) {
  const account = root.dataset.live
  const list = root.querySelector('[data-thread]')
  const fresh = () => [...root.querySelectorAll('[data-fresh]')]
  const byItself = { headers: { 'X-By-Itself': 'yes' }, redirect: 'error' }
  const tab = String(Math.random())
  const watch = list ? account + ':' + list.dataset.thread : account
  let known = Math.max(0, ...[...root.querySelectorAll('[data-seq]')].map(one => Number(one.dataset.seq)))
  const status = document.createElement('p')
  status.className = 'unseen'
  status.setAttribute('role', 'status')
  const paused = document.createElement('p')
  paused.className = 'live-paused'
  paused.setAttribute('role', 'status')
  document.body.append(status, paused)

  // What is said aloud: at most every 5 s.
  let saidAt = 0, toSay = '', sayTimer
  function say(text) {
    toSay = text
    clearTimeout(sayTimer)
    sayTimer = setTimeout(() => { status.textContent = toSay; saidAt = performance.now() }, Math.max(0, saidAt + 5000 - performance.now()))
  }
  function showPaused(isPaused) {
    if (isPaused === paused.hasChildNodes()) return
    paused.textContent = isPaused ? 'Updates paused. ' : ''
    if (!isPaused) return say('Updates are back.')
    const link = document.createElement('a')
    link.href = location.href
    link.textContent = 'Reload'
    paused.append(link)
  }

  async function page(url) {
    const answer = await fetch(url, byItself)
    if (!answer.ok) throw new Error('The page cannot be read')
    return new DOMParser().parseFromString(await answer.text(), 'text/html')
  }

  // One run at a time, and one more if something happened meanwhile. A hidden page waits until it is looked at.
  function once(run) {
    let isRunning = false, isDue = false
    return async function start() {
      isDue = true
      if (isRunning || document.hidden) return
      isRunning = true
      while (isDue && !document.hidden) {
        isDue = false
        await run().catch(() => {})
      }
      isRunning = false
    }
  }
  const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

  const names = new Set()
  const refresh = once(async () => {
    const now = await page(location.href)
    for (const old of fresh()) {
      const next = now.getElementById(old.id)
      if (next && old.dataset.fresh.split(' ').some(name => names.has(name))) morph(old, next)
    }
    names.clear()
    showLocalTimes(root)
    await pause(1000)
  })
  function isNews(name) {
    if (!fresh().some(one => one.dataset.fresh.split(' ').includes(name))) return
    names.add(name)
    refresh()
  }

  // Make an element like another one, without replacing what stays.
  const keyOf = node => node.id || node.getAttribute?.('href') || node.querySelector?.('a[href]')?.getAttribute('href') || ''
  function morph(old, next) {
    const focused = document.activeElement
    morphNode(old, next)
    if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true })
  }
  function morphNode(old, next) {
    if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return old.replaceWith(document.importNode(next, true))
    if (old.nodeType !== 1) {
      if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue
      return
    }
    if (old.isEqualNode(next)) return
    for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name)
    for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value)
    const keyed = new Map([...old.children].map(one => [keyOf(one), one]).filter(([key]) => key))
    let at = old.firstChild
    for (const one of [...next.childNodes]) {
      const same = keyOf(one) && keyed.get(keyOf(one))
      if (same && same !== at) old.insertBefore(same, at)
      else if (!at || (!same && keyOf(one) && at.nodeType === 1 && keyOf(at))) {
        old.insertBefore(document.importNode(one, true), at)
        continue
      }
      const here = same || at
      at = here.nextSibling
      morphNode(here, one)
    }
    while (at) {
      const gone = at
      at = at.nextSibling
      gone.remove()
    }
  }

  // Messages.
  const most = 300
  const waiting = []
  let button
  const items = () => [...list.children].filter(one => one.id.startsWith('m'))
  const seqOf = item => Number(item.id.slice(1))
  const scroller = list?.closest('.scrolls')
  function isNearEnd() {
    const end = scroller && scroller.scrollHeight > scroller.clientHeight + 1
      ? scroller.getBoundingClientRect().bottom : innerHeight
    return list.getBoundingClientRect().bottom - end <= 100
  }
  // The page shows older messages, so what is new does not follow on them.
  const isPast = () => root.querySelector('.to-now:not([data-new])') !== null
  const glance = list?.closest('[data-glance]') ? '&glance' : ''
  const fetched = after => page('/accounts/' + account + '/conversations/' + list.dataset.thread + '/messages?after=' + after + glance)

  const readOn = once(async () => {
    if (isPast()) return say('There are new messages.')
    for (let isMore = true; isMore;) {
      const last = Number(list.dataset.seq)
      const found = [...(await fetched(last)).querySelectorAll('body > li')]
      const messages = found.filter(item => item.id.startsWith('m') && seqOf(item) > last)
      if (messages.length === 0) return
      list.dataset.seq = seqOf(messages.at(-1))
      waiting.push(...found)
      isMore = messages.length >= 50 && items().length + waiting.length < most
      say(count(messages) + ' new' + from(messages))
      if (isNearEnd()) append()
      else showButton()
    }
  })
  const count = found => found.filter(item => item.id.startsWith('m')).length
  function from(found) {
    const sender = found.map(item => item.querySelector('.from b')?.textContent).find(Boolean)
      || items().map(item => item.querySelector('.from b')?.textContent).filter(Boolean).at(-1)
    return sender ? ' from ' + sender : ''
  }
  function append() {
    if (items().length + waiting.length > most) return showButton()
    const isAtEnd = isNearEnd()
    const added = waiting.splice(0).map(item => document.importNode(item, true))
    list.append(...added)
    for (const item of added) item.classList.add('arrived')
    showLocalTimes(list)
    button?.remove()
    button = undefined
    if (isAtEnd) added.at(-1)?.scrollIntoView({ block: 'end' })
    return added[0]
  }
  function showButton() {
    if (!button) {
      button = document.createElement('button')
      button.type = 'button'
      button.className = 'button to-now'
      button.dataset.new = ''
      button.addEventListener('click', () => {
        if (items().length + waiting.length > most) return location.reload()
        const first = append()
        first.tabIndex = -1
        first.focus({ preventScroll: true })
        list.lastElementChild.scrollIntoView({ block: 'end' })
      })
      const foot = list.closest('section')?.querySelector('.pane-foot')
      if (foot) foot.prepend(button)
      else list.parentElement.after(button)
    }
    button.textContent = count(waiting) + ' new'
  }
  if (list) {
    addEventListener('scroll', () => { if (waiting.length > 0 && isNearEnd()) append() }, { capture: true, passive: true })
  }

  const changed = new Set()
  const showStates = once(async () => {
    let shown = items().filter(item => changed.has(seqOf(item)))
    changed.clear()
    // A fetch has up to 50 messages, and the page may have more.
    while (shown.length > 0) {
      const now = await fetched(seqOf(shown[0]) - 1)
      for (const item of shown) {
        const [old, next] = [item, now.getElementById(item.id)].map(one => one?.querySelector('.state-line'))
        if (old && next) morph(old, next)
      }
      shown = shown.slice(1).filter(item => !now.getElementById(item.id))
    }
    showLocalTimes(list)
  })
  const isOpen = item => item.querySelector('.state.stored, .state.waiting, .state.leased, .state.released') !== null

  // Events.
  let unread, isFirst = true
  function heard(name, data) {
    if (data.a !== undefined && data.a !== account) return
    if (name === 'hello') {
      showPaused(false)
      if (list) for (const item of items().filter(isOpen)) changed.add(seqOf(item))
      if (list) showStates()
      if (!isFirst) isNews('presence')
      isFirst = false
    } else if (name === 'thread') {
      if (data.seq <= known && !(list && data.t === Number(list.dataset.thread))) return
      known = Math.max(known, data.seq)
      if (list && data.t === Number(list.dataset.thread) && data.seq > Number(list.dataset.seq)) readOn()
      isNews('thread')
    } else if (name === 'state') {
      if (!list || data.t !== Number(list.dataset.thread)) return
      for (const seq of data.ids) changed.add(seq)
      showStates()
    } else if (name === 'presence') isNews('presence')
    else if (name === 'count') {
      if (unread !== undefined && unread !== data.unread) isNews('count')
      unread = data.unread
    } else if (name === 'resync') {
      for (const one of ['thread', 'presence', 'count']) isNews(one)
      if (list) readOn()
    } else if (name === 'bye') showPaused(true)
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return
    if (names.size > 0) refresh()
    if (changed.size > 0) showStates()
    if (list) readOn()
  })

  // The stream, and the tabs that share it.
  const channel = 'BroadcastChannel' in self && navigator.locks ? new BroadcastChannel('live') : undefined
  const tabs = new Map()
  const kinds = ['hello', 'thread', 'state', 'presence', 'count', 'resync', 'beat', 'bye']
  let source, watched = '', lastId = 0, heardAt = performance.now(), isLeader = !channel, isEnded = false, retryTimer, openTimer
  const me = () => ({ type: 'join', tab, account, watch, seq: known })
  function tell(name, data) {
    heard(name, data)
    channel?.postMessage({ type: 'event', name, data })
  }
  function tellPaused(isPaused) {
    showPaused(isPaused)
    channel?.postMessage({ type: 'paused', isPaused })
  }
  function open() {
    clearTimeout(retryTimer)
    source?.close()
    const all = [me(), ...tabs.values()]
    watched = [...new Set(all.map(one => one.watch))].sort().slice(0, 20).join(',')
    const after = Math.min(...all.map(one => one.seq), ...lastId ? [lastId] : [])
    source = new EventSource('/live?watch=' + encodeURIComponent(watched) + '&after=' + after)
    heardAt = performance.now()
    const mine = source
    for (const name of kinds) {
      source.addEventListener(name, event => {
        if (mine !== source) return
        heardAt = performance.now()
        lastId = Math.max(lastId, Number(event.lastEventId) || 0)
        const data = JSON.parse(event.data)
        if (name === 'bye') return ended(data)
        if (name !== 'beat') tell(name, data)
      })
    }
    source.addEventListener('error', () => {
      if (mine !== source || isEnded) return
      tellPaused(true)
      if (source.readyState === EventSource.CLOSED) retryTimer = setTimeout(open, 5000 + Math.random() * 10000)
    })
  }
  function ended({ why, a }) {
    if (why === 'stopping' || why === 'unavailable') return tellPaused(true)
    source.close()
    if (why === 'account' && a !== account && tabs.size > 0) {
      channel?.postMessage({ type: 'event', name: 'bye', data: { why, a } })
      for (const [id, one] of tabs) if (one.account === a) tabs.delete(id)
      return open()
    }
    if (why === 'full') retryTimer = setTimeout(open, 30000)
    else isEnded = true
    if (why !== 'account') tellPaused(true)
    else {
      showPaused(true)
      stop()
    }
  }
  function openSoon() {
    clearTimeout(openTimer)
    openTimer = setTimeout(open, 50)
  }
  let release
  function lead() {
    isLeader = true
    channel?.postMessage({ type: 'who' })
    openSoon()
  }
  function stop() {
    isLeader = !channel
    source?.close()
    source = undefined
    clearTimeout(retryTimer)
    clearTimeout(openTimer)
    channel?.postMessage({ type: 'leave', tab })
    release?.()
  }
  const abort = new AbortController()
  function start() {
    if (!channel) return lead()
    channel.postMessage(me())
    navigator.locks.request('live', { signal: abort.signal }, () => new Promise(resolve => {
      release = resolve
      lead()
    })).catch(() => {})
  }
  channel?.addEventListener('message', ({ data }) => {
    if (data.type === 'event') heard(data.name, data.data)
    else if (data.type === 'paused') showPaused(data.isPaused)
    else if (data.type === 'who') channel.postMessage(me())
    else if (data.type === 'leave') tabs.delete(data.tab)
    else if (data.type === 'join' && isLeader) {
      const { type, ...one } = data
      tabs.set(one.tab, one)
      if (!watched.split(',').includes(one.watch) || !source || one.seq < lastId) openSoon()
      else channel.postMessage({ type: 'paused', isPaused: paused.hasChildNodes() })
    }
  })
  // After sleep, a stream may be lost without an error.
  setInterval(() => { if (isLeader && source && !isEnded && performance.now() - heardAt > 40000) open() }, 5000)
  addEventListener('pagehide', stop)
  addEventListener('pageshow', event => { if (event.persisted) location.reload() })
  start()
}
const liveRoot = document.querySelector('[data-live]')
if (liveRoot?.querySelector('[data-thread], [data-fresh]') && self.EventSource) live(liveRoot)
`
