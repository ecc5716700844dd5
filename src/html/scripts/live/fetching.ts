/** How an open page reads pages again: by itself, which does not prolong the session, and never twice at once. */
export const fetchingScript = `
async function fetchPage(url) {
  const answer = await fetch(url, { headers: { 'X-By-Itself': 'yes' }, redirect: 'error' })
  if (!answer.ok) throw new Error('The page cannot be read')
  return new DOMParser().parseFromString(await answer.text(), 'text/html')
}
// One run at a time, and one more if something happened meanwhile. A hidden page waits until it is looked at.
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
