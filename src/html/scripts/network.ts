/**
 * Pictures of a network, `data-network`: while a node or an edge is pointed at or focused, fades what does not touch it, and
 * puts its title into the element `data-chosen`. `data-ends` of a link has one node, or the two of an edge.
 */
export const network = `
for (const picture of document.querySelectorAll('[data-network]')) {
  const chosen = picture.querySelector('[data-chosen]')
  const hint = chosen.textContent
  const endsOf = link => link.dataset.ends.split(' ')
  const choose = event => {
    const link = event.target.closest('[data-ends]')
    const links = [...picture.querySelectorAll('[data-ends]')]
    const isEdge = one => one.classList.contains('edge')
    const edges = !link ? links.filter(isEdge) : isEdge(link) ? [link]
      : links.filter(one => isEdge(one) && endsOf(one).includes(link.dataset.ends))
    const touched = new Set([link, ...edges].flatMap(one => one ? endsOf(one) : []))
    const isOff = one => link && !(isEdge(one) ? edges.includes(one) : touched.has(one.dataset.ends))
    for (const one of links) one.classList.toggle('off', Boolean(isOff(one)))
    chosen.textContent = link ? link.getAttribute('aria-label') : hint
  }
  for (const type of ['pointerover', 'pointerleave', 'focusin']) picture.addEventListener(type, choose)
}
`
