/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Drawn, EdgeLink, labelOf, NodeLink, rounded, runsOf } from './picture.tsx'

/** Room for the labels of rows and columns. */
const side = 190
const head = 150
/** More nodes than this are too close for a label each: their groups have one. */
const maxLabelled = 80
const labelHeight = 16

/** Nodes as rows and columns in the order of their groups. A row sent, a column received. */
export function Matrix({ label, nodes, edges }: Drawn) {
  const size = Math.max(5, Math.min(16, Math.floor(1_000 / nodes.length)))
  const isLabelled = nodes.length <= maxLabelled
  const extent = nodes.length * size
  const runs = runsOf(nodes)
  const labels = isLabelled
    ? nodes.map(({ name }, n) => ({ group: name, from: n, to: n }))
    : runs.filter(({ from, to }) => (to - from + 1) * size >= labelHeight)
  const most = Math.log1p(Math.max(1, ...edges.flatMap(({ there, back }) => [there, back])))
  return (
    <svg
      class={isLabelled ? 'network matrix labelled' : 'network matrix'}
      viewBox={`0 0 ${side + extent + 8} ${head + extent + 8}`}
      role='group'
      aria-label={label}
      direction='ltr'
    >
      <rect class='ground' x={side} y={head} width={extent} height={extent} />
      {runs.map(({ from }) => (
        <path class='rule' d={`M${side} ${head + from * size}h${extent}M${side + from * size} ${head}v${extent}`} />
      ))}
      {labels.map(({ group, from, to }) => {
        const middle = rounded((from + to + 1) / 2 * size + 4)
        return (
          <>
            <text x={side - 12} y={middle} dy={head} text-anchor='end'>{labelOf(group)}</text>
            <text transform={`translate(${side} ${head - 8}) rotate(-90)`} y={middle}>{labelOf(group)}</text>
          </>
        )
      })}
      {nodes.map((node, n) => (
        <NodeLink node={node} n={n} x={side - 6} y={head + (n + .5) * size} r={Math.min(4, size / 2 - .5)} />
      ))}
      {edges.map((edge) => {
        const { a, b, there, back, isFailing } = edge
        // One cell for each direction in which something was sent, and one at least.
        const cells = [...there > 0 || back === 0 ? [[a, b, there]] : [], ...back > 0 ? [[b, a, back]] : []]
        return (
          <EdgeLink edge={edge}>
            {cells.map(([row, column, messages]) => {
              const [x, y] = [side + column * size, head + row * size]
              // Where something failed, a larger square on its corner.
              if (isFailing) {
                return <path class='cell failing' d={`M${x + size / 2} ${y - size * .2}l${diamond(size * .7)}z`} />
              }
              const strength = rounded(.25 + .75 * Math.log1p(messages) / most)
              return <rect class='cell' x={x} y={y} width={size - .5} height={size - .5} fill-opacity={strength} />
            })}
          </EdgeLink>
        )
      })}
    </svg>
  )
}

function diamond(r: number): string {
  return [[r, r], [-r, r], [-r, -r]].map((step) => step.map(rounded).join(' ')).join(' ')
}
