/**
 * The parts of an open page that are fetched again: elements with an id and `data-fresh`, the names of news after which
 * they are. `presence:ID` is news of one agent, `minute` comes by itself. `data-watch` names threads of which the states
 * of messages are news.
 */
export const freshScript = `
function freshParts(root, onWatch) {
  const parts = () => [...root.querySelectorAll('[data-fresh]')]
  // News of all agents are for the parts of each, and the other way round.
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
  function isNews(name) {
    if (!parts().some(part => wants(part, name))) return
    due.add(name)
    refresh()
  }
  setInterval(() => isNews('minute'), 60000)
  return {
    isNews,
    // The page is looked at again.
    goOn() { if (due.size > 0) refresh() },
    // The threads of which the states are shown.
    threads: () => parts().flatMap(part => part.dataset.watch?.split(' ') ?? []).map(Number),
  }
}
`
