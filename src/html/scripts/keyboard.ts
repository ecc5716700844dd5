/**
 * Single-key shortcuts, on pages with the dialog `shortcuts`. Users who have disabled shortcuts get pages without the
 * dialog. Keys pressed in fields are ignored. `j` and `k` move through the rows, `r` replies to the focused message,
 * `s` opens a row's snooze menu, `?` opens the dialog. Any other key clicks the element with this key in `data-key`. A
 * key after `g` is written `g c`.
 */
export const keyboard = `
const shortcuts = byId('shortcuts')
if (shortcuts) {
  const afterGMs = 1500
  let gAt = -Infinity

  function rowsHere() {
    const messages = [...document.querySelectorAll('.messages > li:not(.day, .note)')]
    if (messages.some(row => row.contains(document.activeElement))) return messages
    const found = ['.needs > li', '.threads a', 'main tbody tr > :first-child a']
      .map(selector => [...document.querySelectorAll(selector)].filter(row => row.checkVisibility()))
    return [...found, messages].find(rows => rows.length > 0) ?? []
  }
  function go(step) {
    const rows = rowsHere()
    // The rows that a summary row expands to are inside that row.
    const at = rows.findLastIndex(row => row.contains(document.activeElement))
    // The list page marks its newest conversation as current, although the reader has not chosen it.
    const current = rows.findIndex(row => row.matches('[aria-current=page]') && !row.closest('.list-first'))
    const row = rows[at >= 0 ? at + step : current >= 0 ? current + step : step > 0 ? 0 : rows.length - 1]
    if (!row) return
    const action = row.matches('.needs > li') && row.querySelector('.open, summary, button')
    if (action) return action.focus()
    if (row.localName === 'li') row.tabIndex = -1
    row.focus()
  }
  function answer() {
    const message = document.activeElement.closest('.messages > li')
    const link = message?.querySelector('a[href*="reply="]')
    if (link) link.click()
    else document.querySelector('textarea[data-draft]')?.focus()
  }
  function snooze() {
    const rows = rowsHere()
    const menu = (rows.findLast(row => row.contains(document.activeElement)) ?? rows[0])?.querySelector('.menu')
    if (!menu) return
    menu.open = true
    menu.querySelector('button').focus()
  }
  const click = element => element?.click()
  const actions = {
    j: () => go(1),
    k: () => go(-1),
    r: answer,
    s: snooze,
    u: () => click(document.querySelector('main .back')),
    '/': () => (document.querySelector('main input[type=search]') ?? { focus: openJump }).focus(),
    '?': () => openModal(shortcuts),
  }
  const keyed = name => [...document.querySelectorAll('[data-key]')]
    .find(element => element.dataset.key === name && !element.closest('[hidden]'))

  document.addEventListener('keydown', event => {
    const { key, target, ctrlKey, metaKey, altKey, isComposing, defaultPrevented, timeStamp } = event
    if (ctrlKey || metaKey || altKey || isComposing || defaultPrevented) return
    if (target.closest('input, textarea, select, [contenteditable]') || document.querySelector('dialog[open]')) return
    const isAfterG = timeStamp - gAt < afterGMs
    gAt = key === 'g' ? timeStamp : -Infinity
    const name = isAfterG ? 'g ' + key : key
    const run = actions[name] ?? (keyed(name) && (() => click(keyed(name))))
    if (!run) return
    event.preventDefault()
    run()
  })
}
`
