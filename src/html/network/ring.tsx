/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Drawn, type DrawnNode, labelOf, nodeClass, NodeMark, PictureLink, rounded, runsOf } from './picture.tsx'

const width = 1_000
const centre = width / 2
/** Room above and below. */
const margin = 36
const perRow = 8
const rowHeight = 56

interface Point {
  x: number
  y: number
}

/**
 * Nodes on a ring, clockwise from the top, with an arc and a heading for each group. They are at even heights, so that no
 * two labels meet. Agents of other accounts are in rows below, so that the others keep their places.
 */
export function Ring({ label, nodes, edges }: Drawn) {
  const inside = nodes.filter(({ isOutside }) => !isOutside)
  const others = nodes.filter(({ isOutside }) => isOutside)
  const runs = runsOf(inside)
  const hasHeadings = runs.length > 1 && runs.some(({ from, to }) => to > from)
  // A slot is a node or, before the first of a group, its heading. A channel heads its group.
  const slots = runs.flatMap(({ group, from, to }) => [
    ...hasHeadings && inside[from].label !== group ? [{ heading: group }] : [],
    ...inside.slice(from, to + 1).map((node) => ({ node })),
  ])
  const { points, middle, bottom } = ringOf(slots.length)
  const places = new Map<DrawnNode, Point>()
  for (const [n, slot] of slots.entries()) if ('node' in slot) places.set(slot.node, points[n])
  for (const [n, node] of others.entries()) {
    const inRow = Math.min(perRow, others.length - n + n % perRow)
    const x = width * (n % perRow + .5) / inRow
    places.set(node, { x, y: bottom + margin + rowHeight * Math.floor(n / perRow) })
  }
  const height = bottom + margin + rowHeight * Math.ceil(others.length / perRow)
  const at = (n: number) => places.get(nodes[n])!
  const most = Math.max(1, ...edges.map(({ a, b, there, back }) => a === b ? 0 : there + back))
  const widest = edges.length > 100 ? 3.5 : 5
  return (
    <svg
      class='network ring'
      viewBox={`0 0 ${width} ${rounded(height)}`}
      role='group'
      aria-label={label}
      direction='ltr'
    >
      {hasHeadings && runs.filter(({ from, to }) => to > from).map(({ from, to }) => {
        const run = inside.slice(from, to + 1).map((node) => places.get(node)!)
        const inner = run.map(({ x, y }) =>
          `${rounded(centre + (x - centre) * .94)},${rounded(middle + (y - middle) * .94)}`
        )
        return <polyline class='arc' points={inner.join(' ')} />
      })}
      {edges.map(({ a, b, there, back, isFailing, freshness, title, href }) => (
        <PictureLink class='edge' href={href} title={title} ends={[a, b]} isEdge>
          <path
            class={isFailing ? 'line failing' : 'line'}
            d={curve(at(a), at(b), middle)}
            stroke-width={rounded(1 + widest * Math.min(1, Math.log1p(there + back) / Math.log1p(most)) ** 2)}
            stroke-opacity={isFailing ? undefined : rounded(.3 + .5 * freshness)}
          />
          <path class='near' d={curve(at(a), at(b), middle)} />
        </PictureLink>
      ))}
      {slots.map((slot, n) => 'heading' in slot && <Label node={{ label: slot.heading }} at={points[n]} isHeading />)}
      {nodes.map((node, n) => (
        <PictureLink class={nodeClass(node)} href={node.href} title={node.title} ends={[n]}>
          <NodeMark node={node} {...at(n)} r={node.kind === 'group' ? 9 : 6} />
          <Label node={node} at={at(n)} isBelow={node.isOutside} />
        </PictureLink>
      ))}
    </svg>
  )
}

function Label(
  { node, at: { x, y }, isHeading, isBelow }: {
    node: Pick<DrawnNode, 'label'> & { kind?: DrawnNode['kind'] }
    at: Point
    isHeading?: boolean
    isBelow?: boolean
  },
) {
  const isRight = x >= centre
  const gap = isHeading ? 0 : node.kind === 'group' ? 22 : 14
  return (
    <text
      class={isHeading ? 'heading' : undefined}
      x={rounded(isBelow ? x : isRight ? x + gap : x - gap)}
      y={rounded(isBelow ? y + 24 : y + 4)}
      text-anchor={isBelow ? 'middle' : isRight ? 'start' : 'end'}
    >
      {labelOf(node)}
    </text>
  )
}

/** The places of the slots: the first half down the right side, the second half up the left side. */
function ringOf(slots: number): { points: Point[]; middle: number; bottom: number } {
  const rows = Math.max(1, Math.ceil(slots / 2))
  const gap = Math.min(64, Math.max(24, 560 / rows))
  const half = rows * gap / 2
  const reach = Math.min(270, Math.max(half, 140))
  const middle = margin + half
  const points = Array.from({ length: slots }, (_, n): Point => {
    const isRight = n < rows
    const row = isRight ? n : slots - 1 - n
    const y = -half + gap * (row + .5)
    const x = reach * Math.sqrt(Math.max(0, 1 - (y / half) ** 2))
    return { x: centre + (isRight ? x : -x), y: middle + y }
  })
  return { points, middle, bottom: middle + half }
}

/** A curve that bends towards the middle; of a node with itself, a loop around it. */
function curve(from: Point, to: Point, middle: number): string {
  if (from === to) {
    return `M${rounded(from.x - 14)} ${rounded(from.y)}a14 14 0 1 1 28 0a14 14 0 1 1 -28 0`
  }
  const [x, y] = [.35 * (from.x + to.x) / 2 + .65 * centre, .35 * (from.y + to.y) / 2 + .65 * middle]
  return `M${rounded(from.x)} ${rounded(from.y)}Q${rounded(x)} ${rounded(y)} ${rounded(to.x)} ${rounded(to.y)}`
}
