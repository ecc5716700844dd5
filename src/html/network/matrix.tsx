/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Drawn, type DrawnEdge, labelOf, nodeClass, NodeMark, PictureLink, rounded, runsOf } from './picture.tsx'

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
  const most = Math.max(1, ...edges.flatMap(({ there, back }) => [there, back]))
  const strength = (messages: number) => rounded(.25 + .75 * Math.log1p(messages) / Math.log1p(most))
  return (
    <svg
      class={isLabelled ? 'network matrix labelled' : 'network matrix'}
      viewBox={`0 0 ${side + extent + 8} ${head + extent + 8}`}
      role='group'
      aria-label={label}
      direction='ltr'
    >
      <rect class='ground' x={side} y={head} width={extent} height={extent} />
      {runs.map(({ group, from, to }) => {
        const middle = (from + to + 1) / 2 * size
        return (
          <g>
            <path class='rule' d={`M${side} ${head + from * size}h${extent}M${side + from * size} ${head}v${extent}`} />
            {!isLabelled && (to - from + 1) * size >= labelHeight && (
              <>
                <Label text={group} x={side - 12} y={head + middle} />
                <Label text={group} x={side + middle} y={head - 12} isColumn />
              </>
            )}
          </g>
        )
      })}
      {nodes.map((node, n) => {
        const middle = (n + .5) * size
        return (
          <PictureLink class={nodeClass(node)} href={node.href} title={node.title} ends={[n]}>
            {isLabelled && <Label text={node.label} x={side - 12} y={head + middle} />}
            <NodeMark node={node} x={side - 6} y={head + middle} r={Math.min(4, size / 2 - .5)} />
          </PictureLink>
        )
      })}
      {isLabelled &&
        nodes.map(({ label }, n) => <Label text={label} x={side + (n + .5) * size} y={head - 6} isColumn />)}
      {edges.flatMap(cellsOf).map(({ edge: { a, b, isFailing, title, href }, row, column, messages }) => (
        <PictureLink class='edge' href={href} title={title} ends={[a, b]} isEdge>
          <Cell
            x={side + column * size}
            y={head + row * size}
            size={size}
            isFailing={isFailing}
            strength={strength(messages)}
          />
        </PictureLink>
      ))}
    </svg>
  )
}

/** The cells of a pair: one for each direction in which something was sent, and one at least. */
function cellsOf(edge: DrawnEdge): { edge: DrawnEdge; row: number; column: number; messages: number }[] {
  const { a, b, there, back } = edge
  return [
    ...there > 0 || back === 0 ? [{ edge, row: a, column: b, messages: there }] : [],
    ...back > 0 ? [{ edge, row: b, column: a, messages: back }] : [],
  ]
}

/** A square; a larger one on its corner where something failed. */
function Cell(
  { x, y, size, isFailing, strength }: { x: number; y: number; size: number; isFailing: boolean; strength: string },
) {
  if (!isFailing) {
    return <rect class='cell' x={x} y={y} width={size - .5} height={size - .5} fill-opacity={strength} />
  }
  const r = size * .7
  return (
    <path
      class='cell failing'
      d={`M${rounded(x + size / 2)} ${rounded(y + size / 2 - r)}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`}
    />
  )
}

function Label({ text, x, y, isColumn }: { text: string; x: number; y: number; isColumn?: boolean }) {
  if (!isColumn) return <text x={rounded(x)} y={rounded(y + 4)} text-anchor='end'>{labelOf({ label: text })}</text>
  return <text transform={`translate(${rounded(x + 4)} ${rounded(y)}) rotate(-90)`}>{labelOf({ label: text })}</text>
}
