/**
 * Makes an element like another one without replacing what stays: what is open stays open, and the focus where it is.
 * Elements are the same if they have the same id, or the same first link.
 */
export const morphScript = `
function morph(old, next) {
  const focused = document.activeElement
  morphNode(old, next)
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true })
}
// What its user or the script has set since the page was loaded.
const keptAttributes = ['open', 'tabindex', 'data-sent', 'aria-busy']
const keyOf = node => node.id || node.getAttribute?.('href') || node.querySelector?.('a[href]')?.getAttribute('href') || ''
function morphNode(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return old.replaceWith(document.importNode(next, true))
  if (old.nodeType !== 1) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue
    return
  }
  if (old.isEqualNode(next)) return
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !keptAttributes.includes(name)) old.removeAttribute(name)
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value && !keptAttributes.includes(name)) old.setAttribute(name, value)
  }
  const keyed = new Map([...old.children].map(one => [keyOf(one), one]).filter(([key]) => key))
  let at = old.firstChild
  for (const one of [...next.childNodes]) {
    const same = keyOf(one) && keyed.get(keyOf(one))
    if (same && same !== at) old.insertBefore(same, at)
    else if (!at || (!same && keyOf(one) && at.nodeType === 1 && keyOf(at))) {
      old.insertBefore(document.importNode(one, true), at)
      continue
    }
    const here = same || at
    at = here.nextSibling
    morphNode(here, one)
  }
  while (at) {
    const gone = at
    at = at.nextSibling
    gone.remove()
  }
}
`
