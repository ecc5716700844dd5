/** Reloads parts of an open page. Reloads do not extend the session, and only one runs at a time. */
export const fetchingScript = `
async function fetchPage(url) {
  const answer = await fetch(url, { headers: { 'X-By-Itself': 'yes' }, redirect: 'error' })
  if (!answer.ok) throw new Error('The page cannot be read')
  return new DOMParser().parseFromString(await answer.text(), 'text/html')
}
// Starts one run at a time, and another if it was called during the run. A hidden page waits until it is visible.
function oneAtATime(run) {
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
`

/**
 * Updates an element to match another one without replacing unchanged parts, so that expanded sections stay expanded
 * and the focus is kept. Elements are matched by their id or their first link.
 */
const morphScript = `
function morph(old, next) {
  const focused = document.activeElement
  morphNode(old, next)
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true })
}
// Attributes that the user or the script may have set since the page was loaded.
const keptAttributes = ['open', 'tabindex', 'data-sent', 'aria-busy', 'aria-disabled']
const keyOf = node => node.id || node.getAttribute?.('href') || node.querySelector?.('a[href]')?.getAttribute('href') || ''
function morphNode(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return old.replaceWith(document.importNode(next, true))
  if (old.nodeType !== 1) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue
    return
  }
  if (old.isEqualNode(next)) return
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !keptAttributes.includes(name)) old.removeAttribute(name)
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value && !keptAttributes.includes(name)) old.setAttribute(name, value)
  }
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
`

/**
 * Reloads elements with an id and `data-fresh`, which lists the events that trigger a reload. `presence:ID` is an event
 * of one agent, and `minute` fires every minute. `data-watch` lists threads whose message state changes count as
 * events.
 */
export const freshScript = morphScript + `
function freshParts(root, onWatch) {
  const parts = () => [...root.querySelectorAll('[data-fresh]')]
  // An event of all agents also concerns parts for one agent, and the other way round.
  function wants(part, name) {
    const [kind, id] = name.split(':')
    return part.dataset.fresh.split(' ').map(one => one.split(':'))
      .some(one => one[0] === kind && (!id || !one[1] || one[1] === id))
  }
  const due = new Set()
  const refresh = oneAtATime(async () => {
    const now = await fetchPage(location.href)
    for (const old of parts()) {
      const next = now.getElementById(old.id)
      if (next && [...due].some(name => wants(old, name))) morph(old, next)
    }
    due.clear()
    showLocalTimes(root)
    showAgo()
    onWatch()
    await new Promise(resolve => setTimeout(resolve, 1000))
  })
  function isNews(name, canWait) {
    if (!parts().some(part => wants(part, name) && !(canWait && wants(part, 'minute')))) return
    due.add(name)
    refresh()
  }
  setInterval(() => isNews('minute'), 60000)
  return {
    isNews,
    // Called when the page becomes visible again.
    goOn() { if (due.size > 0) refresh() },
    // The threads whose message states the page shows.
    threads: () => parts().flatMap(part => part.dataset.watch?.split(' ') ?? []).map(Number),
  }
}
`
