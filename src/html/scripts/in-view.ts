/**
 * Marks messages as read after they have been in view for a second. The form with `data-reads` receives the read
 * messages in the fields `m`. Items of unread messages have the class `unread` and the id `mSEQ`, and may be added
 * later. The form is shown while there are unread messages. Once messages have been read, the form with `data-unreads`
 * appears, which marks them as unread again.
 */
export const inView = `
const reads = document.querySelector('form[data-reads]')
if (reads) {
  const inViewMs = 1000
  const unreads = document.querySelector('form[data-unreads]')
  const seqOf = item => Number(item.id.slice(1))
  const itemsLeft = () => document.querySelectorAll('.messages > li.unread')
  let read = []

  async function notifyRead() {
    const items = read
    read = []
    const fields = new URLSearchParams({ csrf: reads.elements.csrf.value, by: 'view' })
    for (const item of items) fields.append('m', seqOf(item))
    const answer = await fetch(reads.action, { method: 'POST', body: fields, keepalive: true }).catch(() => undefined)
    // If the request fails, the messages stay unread and are reported when they are next in view.
    if (!answer?.ok) return
    for (const item of items) item.classList.remove('unread')
    reads.hidden = itemsLeft().length === 0
    const from = unreads.elements.from
    from.value = Math.min(...items.map(seqOf), ...unreads.hidden ? [] : [Number(from.value)])
    unreads.hidden = false
  }
  function wasRead(item) {
    watcher.unobserve(item)
    if (read.push(item) === 1) setTimeout(notifyRead, 100)
  }
  const watcher = new IntersectionObserver(entries => {
    for (const { target, isIntersecting, intersectionRatio, intersectionRect, rootBounds } of entries) {
      const isInView = isIntersecting && !document.hidden &&
        (intersectionRatio >= .5 || intersectionRect.height >= rootBounds.height / 3)
      if (isInView) target.timer ??= setTimeout(wasRead, inViewMs, target)
      else {
        clearTimeout(target.timer)
        target.timer = undefined
      }
    }
  }, { threshold: [0, .25, .5, .75, 1] })
  function watch() {
    for (const item of itemsLeft()) {
      // Observing an item again checks it immediately.
      watcher.unobserve(item)
      watcher.observe(item)
      reads.hidden = false
      reads.elements.upTo.value = Math.max(reads.elements.upTo.value, seqOf(item))
    }
  }
  watch()
  document.addEventListener('visibilitychange', watch)
  for (const list of document.querySelectorAll('.messages')) new MutationObserver(watch).observe(list, { childList: true })
}
`
