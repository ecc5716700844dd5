/**
 * The `jump` dialog, opened with Ctrl+K or Cmd+K. It lists the results from `data-jump` as the user types. Enter opens
 * the first result. Shift+Enter opens the message search.
 */
export const jump = `
const jumpDialog = byId('jump')
function openJump() {
  if (!jumpDialog.open) openModal(jumpDialog)
  jumpDialog.querySelector('input').select()
}
if (jumpDialog) {
  const field = jumpDialog.querySelector('input')
  const found = jumpDialog.querySelector('[data-found]')
  let asked = 0, timer
  async function look() {
    const mine = ++asked
    const url = jumpDialog.dataset.jump + '?' + new URLSearchParams({ q: field.value })
    const page = field.value.trim() === '' ? undefined : await fetchPage(url).catch(() => undefined)
    if (mine !== asked) return
    found.replaceChildren(...page ? page.body.childNodes : [])
  }
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(look, 100)
  })
  // The list may not include results for the latest input yet.
  jumpDialog.querySelector('form').addEventListener('keydown', async event => {
    if (event.key !== 'Enter' || event.isComposing || event.target !== field || field.value.trim() === '') return
    event.preventDefault()
    clearTimeout(timer)
    await look()
    const link = !event.shiftKey && found.querySelector('a')
    link ? link.click() : field.form.requestSubmit()
  })
  document.addEventListener('keydown', event => {
    const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = event
    if (key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey && !isComposing) {
      event.preventDefault()
      return document.querySelector('dialog[open]') ? undefined : openJump()
    }
    if (!jumpDialog.open || (key !== 'ArrowDown' && key !== 'ArrowUp')) return
    const stops = [field, ...found.querySelectorAll('a')]
    const next = stops[stops.indexOf(document.activeElement) + (key === 'ArrowDown' ? 1 : -1)]
    if (!next) return
    event.preventDefault()
    next.focus()
  })
}
`
