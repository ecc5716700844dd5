/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What the two pictures of a network are made of: links in SVG. The table below them says the same. */
import type { Child } from 'hono/jsx'
import { visibleControls } from '../../html/bidi.tsx'

export interface DrawnNode {
  name: string
  /** The name and its numbers in words. */
  title: string
  href?: string
  group: string
  kind: 'agent' | 'channel' | 'foreign' | 'group'
  isSeen: boolean
  /** It belongs to other accounts. */
  isOutside: boolean
}

/** A line between two nodes, which are named by their places in the list; with `a` equal to `b`, within one group. */
export interface DrawnEdge {
  a: number
  b: number
  there: number
  back: number
  isFailing: boolean
  /** From 0, long ago, to 1, now. */
  freshness: number
  title: string
  href: string
}

export interface Drawn {
  label: string
  nodes: DrawnNode[]
  edges: DrawnEdge[]
}

const maxLabel = 28

/** A node as a link: a channel is square, the others are round. */
export function NodeLink(
  { node, n, x, y, r, children }: { node: DrawnNode; n: number; x: number; y: number; r: number; children?: Child },
) {
  return (
    <a
      class={`node ${node.kind}${node.isSeen ? '' : ' hollow'}`}
      href={node.href}
      aria-label={node.title}
      data-ends={String(n)}
    >
      {node.kind === 'channel'
        ? <rect x={rounded(x - r)} y={rounded(y - r)} width={2 * r} height={2 * r} />
        : <circle cx={rounded(x)} cy={rounded(y)} r={r} />}
      {children}
    </a>
  )
}

/** An edge as a link. The keyboard reaches edges by the table. */
export function EdgeLink({ edge: { a, b, href, title }, children }: { edge: DrawnEdge; children: Child }) {
  return (
    <a class='edge' href={href} aria-label={title} data-ends={a === b ? String(a) : `${a} ${b}`} tabindex={-1}>
      {children}
    </a>
  )
}

export function labelOf(name: string): string {
  const letters = [...visibleControls(name)]
  return letters.length > maxLabel ? `${letters.slice(0, maxLabel - 1).join('')}…` : letters.join('')
}

export function rounded(value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** Nodes of the same group that follow each other, as places from and to, both included. */
export function runsOf(nodes: DrawnNode[]): { group: string; from: number; to: number }[] {
  const runs: ReturnType<typeof runsOf> = []
  for (const [n, { group }] of nodes.entries()) {
    const last = runs.at(-1)
    if (last?.group === group) last.to = n
    else runs.push({ group, from: n, to: n })
  }
  return runs
}
