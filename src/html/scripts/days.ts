/**
 * Days as people speak of them, in the time zone and by the clock of the browser. `nameOfDay` says whether a date is of
 * today or of yesterday. `data-days-ago` on a link with `?at=`: leads to the beginning of the day so many days ago.
 */
export const days = `
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
// The page may have stayed open over midnight.
addEventListener('focus', () => { showDays(); showLocalTimes(document) })
`
