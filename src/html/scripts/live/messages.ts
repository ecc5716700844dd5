/**
 * Updates an open conversation: a list with `data-thread="T"` and `data-seq="N"`. Messages after `N` are appended while
 * the reader is near the end. Otherwise a button shows the number of new messages. State changes of its messages are
 * shown. Inside an element with `data-glance`, the messages do not count as seen.
 */
export const messagesScript = `
function liveMessages(root, list, account, say) {
  const most = 300
  const thread = Number(list.dataset.thread)
  const waiting = []
  let button
  const items = () => [...list.children].filter(one => one.id.startsWith('m'))
  const seqOf = item => Number(item.id.slice(1))
  const scroller = list.closest('.scrolls')
  function isNearEnd() {
    const end = scroller && scroller.scrollHeight > scroller.clientHeight + 1
      ? scroller.getBoundingClientRect().bottom : innerHeight
    return list.getBoundingClientRect().bottom - end <= 100
  }
  // Whether the page shows older messages, which new messages do not directly follow.
  const isPast = () => root.querySelector('.to-now:not([data-new])') !== null
  const glance = list.closest('[data-glance]') ? '&glance' : ''
  const fetched = after => fetchPage('/accounts/' + account + '/conversations/' + thread + '/messages?after=' + after + glance)

  const readOn = oneAtATime(async () => {
    if (isPast()) return say('There are new messages.')
    for (let isMore = true; isMore;) {
      const last = Number(list.dataset.seq)
      const now = await fetched(last)
      const found = [...now.querySelectorAll('body > li:not([data-more])')]
      const messages = found.filter(item => item.id.startsWith('m') && seqOf(item) > last)
      if (messages.length === 0) return
      list.dataset.seq = seqOf(messages.at(-1))
      waiting.push(...found)
      isMore = now.querySelector('[data-more]') !== null && items().length + waiting.length < most
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
  addEventListener('scroll', () => { if (waiting.length > 0 && isNearEnd()) append() }, { capture: true, passive: true })

  const changed = new Set()
  const showStates = oneAtATime(async () => {
    let shown = items().filter(item => changed.has(seqOf(item)))
    changed.clear()
    // A fetch returns up to 50 messages, and the page may show more.
    while (shown.length > 0) {
      const now = await fetched(seqOf(shown[0]) - 1)
      for (const item of shown) {
        for (const part of ['.state-line', '.offer']) {
          const [old, next] = [item, now.getElementById(item.id)].map(one => one?.querySelector(part))
          if (old && next) morph(old, next)
          else if (old && now.getElementById(item.id)) old.remove()
        }
      }
      shown = shown.slice(1).filter(item => !now.getElementById(item.id))
    }
    showLocalTimes(list)
  })
  function haveChanged(seqs) {
    for (const seq of seqs) changed.add(seq)
    if (changed.size > 0) showStates()
  }
  const isOpen = item => item.querySelector('.state.stored, .state.waiting, .state.leased, .state.released') !== null
  return {
    thread,
    readOn,
    haveChanged,
    // Messages that were still open may have changed before the stream began.
    lookAtOpen: () => haveChanged(items().filter(isOpen).map(seqOf)),
    isShown: seq => seq <= Number(list.dataset.seq),
    goOn() { haveChanged([]); readOn() },
  }
}
`
