/** The style and script of the Network page. */
import { asset } from '../../html/assets.ts'

export const style = asset(
  'css',
  'text/css',
  `
.picture { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); padding: var(--s3) var(--card) var(--card) }
.picture + .table { border-top: 1px solid var(--line) }
/* Its names need this room. Narrow windows have the table. */
@media (max-width: 60rem) { .picture { display: none } .picture + .table { border-top: 0 } }
.network.ring { display: block; max-width: 100%; height: auto; max-height: none; margin-inline: auto }
.network text { fill: var(--ink); font: .8125rem/1 var(--sans) }
.network .heading { fill: var(--soft); font-weight: 640 }
.network a { text-decoration: none } .network a:hover text, .network a:focus-visible text { text-decoration: underline }
.network .arc { fill: none; stroke: var(--line); stroke-width: 3; stroke-linecap: round; stroke-linejoin: round }
.network .line { fill: none; stroke: var(--edge); stroke-linecap: round }
.network .near { fill: none; stroke: transparent; stroke-width: 12 }
.network .edge:hover .line { stroke: var(--accent) }
.network .line.failing, .network .edge:hover .line.failing { stroke: var(--danger); stroke-dasharray: 6 5; stroke-linecap: butt }
.network .node > :is(circle, rect) { fill: var(--accent); stroke: var(--accent); stroke-width: 2 }
.network .node.channel > rect { fill: var(--info); stroke: var(--info) } .network .node.foreign > circle { fill: var(--warning); stroke: var(--warning) }
.network .node.hollow > :is(circle, rect) { fill: var(--panel) }
.network .off { opacity: .12 } .network .node.off { opacity: .35 }
.volume { display: block; max-width: 20rem; margin-top: var(--s1) }
.picture [data-chosen] { min-height: 1.5rem }
@media (forced-colors: active) {
  .network .line, .network .arc { stroke: CanvasText } .network .line.failing { stroke: LinkText }
  .network text { fill: LinkText } .network .heading { fill: CanvasText }
  .network .node.node > :is(circle, rect), .volume .bar-of { fill: CanvasText; stroke: CanvasText }
  .network .node.node.hollow > :is(circle, rect) { fill: Canvas } .volume .bar-of.danger { fill: LinkText }
}
`,
)

/**
 * Script for network pictures (`data-network`). While a node or an edge is hovered or focused, it fades all unconnected
 * nodes and edges, and shows the title in the element `data-chosen`. A link's `data-ends` contains one node, or the two
 * nodes of an edge.
 */
export const script = asset(
  'js',
  'text/javascript',
  `'use strict'
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
`,
)
