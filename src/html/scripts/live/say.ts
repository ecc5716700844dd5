/** What an open page says by itself: what is new, at most every 5 s, and that its updates are paused. */
export const sayScript = `
function liveSayer() {
  const status = document.createElement('p')
  status.className = 'unseen'
  status.setAttribute('role', 'status')
  const paused = document.createElement('p')
  paused.className = 'live-paused'
  paused.setAttribute('role', 'status')
  document.body.append(status, paused)

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
