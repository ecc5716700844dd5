/** `data-ago` on a `<time>`: says how long ago the page, or this part of it, was made, and goes on counting. */
export const ago = `
const agoFrom = new WeakMap()
function showAgo(loadedAt = performance.now()) {
  for (const time of document.querySelectorAll('time[data-ago]')) {
    const known = agoFrom.get(time)
    // A part that was read again is another one, or has another time.
    const from = known?.of === time.dateTime ? known : { of: time.dateTime, at: loadedAt }
    agoFrom.set(time, from)
    const seconds = Math.floor((performance.now() - from.at) / 1000)
    time.textContent = seconds < 60 ? seconds + ' s ago' : Math.floor(seconds / 60) + ' min ago'
  }
}
showAgo(0)
setInterval(() => showAgo(), 5000)
`
