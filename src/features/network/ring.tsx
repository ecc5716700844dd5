/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { visibleControls } from '../../html/bidi.tsx'

interface DrawnNode {
  name: string
  /** The name and its counts, as text. */
  title: string
  href?: string
  group: string
  kind: 'agent' | 'channel' | 'foreign' | 'group'
  isSeen: boolean
  /** Whether the node belongs to other accounts. */
  isOutside: boolean
}

/** A line between two nodes, identified by their indexes. If `a` equals `b`, it represents messages within one node. */
interface DrawnEdge {
  a: number
  b: number
  there: number
  back: number
  isFailing: boolean
  /** From 0 (long ago) to 1 (now). */
  freshness: number
  title: string
  href: string
}

interface Drawn {
  label: string
  nodes: DrawnNode[]
  edges: DrawnEdge[]
}

const width = 1_000
const centre = width / 2
/** Margin above and below the ring. */
const margin = 36
const perRow = 8
const rowHeight = 56
const maxLabel = 28
/** The ring's maximum radius. */
const widestReach = 270
const letterWidth = 8

interface Point {
  x: number
  y: number
}

/**
 * Draws nodes on a ring, clockwise from the top, with an arc and a heading for each group. Even vertical spacing keeps
 * the labels from overlapping. Agents of other accounts are in rows below, so that they do not move the other nodes.
 */
export function Ring({ label, nodes, edges }: Drawn) {
  const inside = nodes.filter(({ isOutside }) => !isOutside)
  const others = nodes.slice(inside.length)
  const runs = runsOf(inside)
  // A slot holds a node or a group's heading. A group whose first node is its channel needs no heading.
  const slots = runs.flatMap(({ group, from, to }): { node?: DrawnNode; heading?: string }[] => [
    ...runs.length > 1 && inside[from].name !== group ? [{ heading: group }] : [],
    ...inside.slice(from, to + 1).map((node) => ({ node })),
  ])
  const { points, middle, bottom } = ringOf(slots.length)
  const places = new Map(slots.map(({ node }, n) => [node, points[n]]))
  for (const [n, node] of others.entries()) {
    const inRow = Math.min(perRow, others.length - n + n % perRow)
    const y = bottom + margin + rowHeight * Math.floor(n / perRow)
    places.set(node, { x: width * (n % perRow + .5) / inRow, y })
  }
  const at = (node: DrawnNode) => places.get(node)!
  const height = bottom + margin + rowHeight * Math.ceil(others.length / perRow)
  // The picture is only as wide as the labels, so that their font is as large as other text. Rows use the full width.
  const longest = Math.max(0, ...nodes.map(({ name }) => labelOf(name).length))
  const half = others.length > 0 ? centre : Math.min(centre, widestReach + 14 + Math.ceil(longest * letterWidth))
  const most = Math.max(1, ...edges.map(({ a, b, there, back }) => a === b ? 0 : there + back))
  // If there are many lines, they are thin and pale, so that each can be traced.
  const [widest, opacity] = edges.length > 100 ? [3, .6] : [5, 1]
  return (
    <svg
      class='network ring'
      width={2 * half}
      viewBox={`${centre - half} 0 ${2 * half} ${rounded(height)}`}
      role='group'
      aria-label={label}
      direction='ltr'
    >
      {runs.map(({ from, to }) => (
        <polyline
          class='arc'
          points={inside.slice(from, to + 1).map(at)
            .map(({ x, y }) => `${rounded(centre + (x - centre) * .94)},${rounded(middle + (y - middle) * .94)}`).join(
              ' ',
            )}
        />
      ))}
      {edges.map((edge) => {
        const { there, back, isFailing, freshness } = edge
        const path = curve(at(nodes[edge.a]), at(nodes[edge.b]), middle)
        const strength = Math.min(1, Math.log1p(there + back) / Math.log1p(most))
        return (
          <EdgeLink edge={edge}>
            <path
              class={isFailing ? 'line failing' : 'line'}
              d={path}
              stroke-width={rounded(1 + widest * strength ** 2)}
              stroke-opacity={isFailing ? undefined : (opacity * (.3 + .5 * freshness)).toFixed(2)}
            />
            <path class='near' d={path} />
          </EdgeLink>
        )
      })}
      {slots.map(({ heading }, n) => heading && <Label name={heading} at={points[n]} gap={0} />)}
      {nodes.map((node, n) => (
        <NodeLink node={node} n={n} {...at(node)} r={node.kind === 'group' ? 9 : 6}>
          <Label name={node.name} at={at(node)} gap={node.kind === 'group' ? 22 : 14} isBelow={node.isOutside} />
        </NodeLink>
      ))}
    </svg>
  )
}

/** A node as a link. Channels are square, other nodes are round. */
function NodeLink(
  { node, n, x, y, r, children }: { node: DrawnNode; n: number; x: number; y: number; r: number; children?: Child },
) {
  // The link's title contains the complete name if the label is truncated.
  const label = labelOf(node.name)
  return (
    <a
      class={`node ${node.kind}${node.isSeen ? '' : ' hollow'}`}
      href={node.href}
      aria-label={node.title.includes(label) ? node.title : `${label}: ${node.title}`}
      data-ends={String(n)}
    >
      {node.kind === 'channel'
        ? <rect x={rounded(x - r)} y={rounded(y - r)} width={2 * r} height={2 * r} />
        : <circle cx={rounded(x)} cy={rounded(y)} r={r} />}
      {children}
    </a>
  )
}

/** An edge as a link. Keyboard users reach edges through the table of pairs. */
function EdgeLink({ edge: { a, b, href, title }, children }: { edge: DrawnEdge; children: Child }) {
  return (
    <a class='edge' href={href} aria-label={title} data-ends={a === b ? String(a) : `${a} ${b}`} tabindex={-1}>
      {children}
    </a>
  )
}

function labelOf(name: string): string {
  const letters = [...visibleControls(name)]
  return letters.length > maxLabel ? `${letters.slice(0, maxLabel - 1).join('')}…` : letters.join('')
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** Runs of adjacent nodes of the same group, with their first and last indexes. */
function runsOf(nodes: DrawnNode[]): { group: string; from: number; to: number }[] {
  const runs: ReturnType<typeof runsOf> = []
  for (const [n, { group }] of nodes.entries()) {
    const last = runs.at(-1)
    if (last?.group === group) last.to = n
    else runs.push({ group, from: n, to: n })
  }
  return runs
}

function Label(
  { name, at: { x, y }, gap, isBelow }: { name: string; at: Point; gap: number; isBelow?: boolean },
) {
  const isRight = x >= centre
  return (
    <text
      class={gap === 0 ? 'heading' : undefined}
      x={rounded(isBelow ? x : isRight ? x + gap : x - gap)}
      y={rounded(isBelow ? y + 24 : y + 4)}
      text-anchor={isBelow ? 'middle' : isRight ? 'start' : 'end'}
    >
      {labelOf(name)}
    </text>
  )
}

/** The positions of the slots. The first half goes down the right side, the second half up the left side. */
function ringOf(slots: number): { points: Point[]; middle: number; bottom: number } {
  const rows = Math.max(1, Math.ceil(slots / 2))
  const gap = Math.min(64, Math.max(24, 560 / rows))
  const half = rows * gap / 2
  const reach = Math.min(widestReach, Math.max(half, 140))
  const points = Array.from({ length: slots }, (_, n): Point => {
    const y = -half + gap * ((n < rows ? n : slots - 1 - n) + .5)
    const x = reach * Math.sqrt(1 - (y / half) ** 2)
    return { x: centre + (n < rows ? x : -x), y: margin + half + y }
  })
  return { points, middle: margin + half, bottom: margin + 2 * half }
}

/** The path of an edge: a curve that bends towards the centre, or a loop if both ends are the same node. */
function curve(from: Point, to: Point, middle: number): string {
  const path = (x: number, y: number) => `${rounded(x)} ${rounded(y)}`
  if (from === to) return `M${path(from.x - 14, from.y)}a14 14 0 1 1 28 0a14 14 0 1 1 -28 0`
  const bend = path(.35 * (from.x + to.x) / 2 + .65 * centre, .35 * (from.y + to.y) / 2 + .65 * middle)
  return `M${path(from.x, from.y)}Q${bend} ${path(to.x, to.y)}`
}
