/**
 * The event stream, which all of the browser's tabs share. The tab that holds the lock `live` opens it. Locks require
 * HTTPS. Without them, each tab opens its own stream.
 */
export const streamScript = `
function sharedStream({ account, watch, known, heard, hasBegun, say: { isPaused, showPaused } }) {
  const most = 40
  const tab = String(Math.random())
  const channel = 'BroadcastChannel' in self && navigator.locks ? new BroadcastChannel('live') : undefined
  const tabs = new Map()
  const kinds = ['hello', 'thread', 'state', 'presence', 'count', 'resync', 'beat', 'bye']
  let source, watched = [], lastId = 0, begunAt = 0, heardAt = performance.now(), isLeader = !channel, isEnded = false, retryTimer, openTimer
  const me = () => ({ type: 'join', tab, account, watch: watch(), seq: known() })
  function handle(name, data) {
    heard(name, data)
    channel?.postMessage({ type: 'event', name, data })
  }
  function notifyPaused(isPaused) {
    showPaused(isPaused)
    channel?.postMessage({ type: 'paused', isPaused })
  }
  function open() {
    clearTimeout(retryTimer)
    source?.close()
    const all = [me(), ...tabs.values()]
    // Accounts come first, so that all of them are watched even if there are too many threads.
    const wanted = [...all.map(one => one.account), ...all.flatMap(one => one.watch)]
    watched = [...new Set(wanted)].slice(0, most)
    const known = [...all.map(one => one.seq), lastId || undefined].filter(seq => seq !== undefined)
    const after = known.length > 0 ? '&after=' + Math.min(...known) : ''
    source = new EventSource('/live?watch=' + encodeURIComponent(watched.join(',')) + after)
    heardAt = performance.now()
    const mine = source
    for (const name of kinds) {
      source.addEventListener(name, event => {
        if (mine !== source) return
        heardAt = performance.now()
        const data = JSON.parse(event.data)
        lastId = Math.max(lastId, Number(event.lastEventId) || 0)
        if (name === 'hello') begunAt = data.seq
        if (name === 'bye') return ended(data)
        if (name !== 'beat') handle(name, data)
      })
    }
    source.addEventListener('error', () => {
      if (mine !== source || isEnded) return
      notifyPaused(true)
      if (source.readyState === EventSource.CLOSED) retryTimer = setTimeout(open, 5000 + Math.random() * 10000)
    })
  }
  function ended({ why, a }) {
    if (why === 'stopping' || why === 'unavailable') return notifyPaused(true)
    source.close()
    if (why === 'account' && a !== account && tabs.size > 0) {
      channel?.postMessage({ type: 'event', name: 'bye', data: { why, a } })
      for (const [id, one] of tabs) if (one.account === a) tabs.delete(id)
      return open()
    }
    if (why === 'full') retryTimer = setTimeout(open, 30000)
    else isEnded = true
    if (why !== 'account') notifyPaused(true)
    else {
      showPaused(true)
      stop()
    }
  }
  function openSoon() {
    clearTimeout(openTimer)
    openTimer = setTimeout(open, 50)
  }
  const isWatched = one => !!source && [one.account, ...one.watch].every(item => watched.includes(item))
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
  channel?.addEventListener('message', ({ data }) => {
    if (data.type === 'event') heard(data.name, data.data)
    else if (data.type === 'paused') showPaused(data.isPaused)
    else if (data.type === 'joined' && data.tab === tab) {
      showPaused(data.isPaused)
      if (!data.isPaused) hasBegun(data.seq)
    } else if (data.type === 'who') channel.postMessage(me())
    else if (data.type === 'leave') tabs.delete(data.tab)
    else if (data.type === 'join' && isLeader) {
      const { type, ...one } = data
      tabs.set(one.tab, one)
      if (!isWatched(one) || one.seq < lastId) openSoon()
      else channel.postMessage({ type: 'joined', tab: one.tab, seq: Math.max(lastId, begunAt), isPaused: isPaused() })
    }
  })
  // After the device has slept, a stream may be lost without an error.
  setInterval(() => { if (isLeader && source && !isEnded && performance.now() - heardAt > 40000) open() }, 5000)
  addEventListener('pagehide', stop)
  addEventListener('pageshow', event => { if (event.persisted) location.reload() })
  if (!channel) lead()
  else {
    channel.postMessage(me())
    navigator.locks.request('live', () => new Promise(resolve => {
      release = resolve
      lead()
    })).catch(() => {})
  }
  // Called when the page shows other threads than before.
  return function watchAnew() {
    if (isLeader && !isEnded) { if (source && !isWatched(me())) openSoon() }
    else if (!isLeader) channel.postMessage(me())
  }
}
`
