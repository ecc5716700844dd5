/** Handles times on open pages: the browser's time zone, the page's age, and days by name. */
/** The cookie that contains the browser's time zone. */
export const zoneCookie = 'grid-zone'

/** Stores the browser's time zone in a cookie, which the server uses from the next page on. */
const zone = `
const zoneNow = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zoneNow && !document.cookie.split('; ').includes('${zoneCookie}=' + zoneNow)) {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  document.cookie = '${zoneCookie}=' + zoneNow + '; Path=/; Max-Age=31536000; SameSite=Lax' + secure
}
`

/** `data-ago` on a `<time>`: shows the age of the page, or of a reloaded part, and keeps it up to date. */
const ago = `
const agoFrom = new WeakMap()
function showAgo(loadedAt = performance.now()) {
  for (const time of document.querySelectorAll('time[data-ago]')) {
    const known = agoFrom.get(time)
    // A reloaded part has a new element or a new time.
    const from = known?.of === time.dateTime ? known : { of: time.dateTime, at: loadedAt }
    agoFrom.set(time, from)
    const seconds = Math.floor((performance.now() - from.at) / 1000)
    time.textContent = seconds < 60 ? seconds + ' s ago' : Math.floor(seconds / 60) + ' min ago'
  }
}
showAgo(0)
setInterval(() => showAgo(), 5000)
`

/**
 * Names days relative to the browser's time zone and clock. `nameOfDay` recognizes today and yesterday. `data-days-ago`
 * on a link with `?at=` points the link to the start of the day that many days ago.
 */
const days = `
function dayBegin(daysAgo) {
  const begin = new Date()
  begin.setHours(0, 0, 0, 0)
  begin.setDate(begin.getDate() - daysAgo)
  return begin
}
function nameOfDay(date) {
  const ago = [0, 1].find(daysAgo => dayBegin(daysAgo).toDateString() === date.toDateString())
  return ['Today', 'Yesterday'][ago]
}
function showDays() {
  for (const link of document.querySelectorAll('[data-days-ago]')) {
    const to = new URL(link.href)
    to.searchParams.set('at', dayBegin(Number(link.dataset.daysAgo)).getTime())
    link.href = to
  }
}
showDays()
// The page may have been open since before midnight.
addEventListener('focus', () => { showDays(); showLocalTimes(document) })
`

export const times = zone + ago + days
