/** The dialog `jump`: Ctrl or Cmd with K opens it. It shows what `data-jump` answers while its user types. */
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
    if (mine === asked) found.replaceChildren(...page ? page.body.childNodes : [])
  }
  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(look, 100)
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
