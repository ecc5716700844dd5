/** The pictures of the page Network. */
export const network = `
.picture { display: grid; gap: var(--s3); grid-template-columns: minmax(0, 1fr); padding: var(--s3) var(--card) var(--card) }
.picture + .table, .fold:has(.picture) + .table { border-top: 1px solid var(--line) }
.network.ring, .network.matrix { display: block; width: 100%; min-width: 44rem; height: auto; max-height: none }
.network text { fill: var(--ink); font: .8125rem/1 var(--sans) } .network.matrix text { font-size: 1rem }
.network.labelled { min-width: 60rem } .network.labelled text { font-size: .75rem }
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
.network .ground { fill: var(--sunk) } .network .rule { stroke: var(--line); fill: none }
.network .cell { fill: var(--accent) } .network .cell.failing { fill: var(--danger) }
.network .off { opacity: .12 } .network .node.off { opacity: .35 }
.picture [data-chosen] { min-height: 1.5rem }
@media (forced-colors: active) {
  .network .line, .network .arc, .network .rule { stroke: CanvasText } .network .line.failing { stroke: LinkText }
  .network text { fill: LinkText } .network .heading { fill: CanvasText }
  .network .node.node > :is(circle, rect), .network .cell { fill: CanvasText; stroke: CanvasText }
  .network .node.node.hollow > :is(circle, rect), .network .ground { fill: Canvas } .network .cell.failing { fill: LinkText }
}
`
