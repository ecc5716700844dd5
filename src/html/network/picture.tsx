/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What the two pictures of a network are made of: links in SVG. The table below them says the same. */
import type { Child } from 'hono/jsx'
import { visibleControls } from '../bidi.tsx'

export interface DrawnNode {
  label: string
  /** The label and its numbers in words. */
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

/** A link. The script shows its title while it is chosen, and fades what does not touch the `ends`. */
export function PictureLink(
  { class: className, href, title, ends, isEdge, children }: {
    class: string
    href?: string
    title: string
    ends: number[]
    /** The keyboard reaches edges by the table. */
    isEdge?: boolean
    children: Child
  },
) {
  return (
    <a
      class={className}
      href={href}
      aria-label={title}
      data-ends={[...new Set(ends)].join(' ')}
      tabindex={isEdge ? -1 : undefined}
    >
      {children}
    </a>
  )
}

export function nodeClass({ kind, isSeen }: DrawnNode): string {
  return `node ${kind}${isSeen ? '' : ' unseen-node'}`
}

/** Agents are round, channels square, and agents of other accounts stand on a corner. */
export function NodeMark({ node, x, y, r }: { node: DrawnNode; x: number; y: number; r: number }) {
  if (node.kind === 'agent' || node.kind === 'group') return <circle cx={rounded(x)} cy={rounded(y)} r={r} />
  const turn = node.kind === 'foreign' ? `rotate(45 ${rounded(x)} ${rounded(y)})` : undefined
  return <rect x={rounded(x - r)} y={rounded(y - r)} width={2 * r} height={2 * r} transform={turn} />
}

export function labelOf({ label }: Pick<DrawnNode, 'label'>): string {
  const letters = [...visibleControls(label)]
  return letters.length > maxLabel ? `${letters.slice(0, maxLabel - 1).join('')}…` : letters.join('')
}

export function rounded(value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** Runs of nodes of the same group, as places from and to, both included. */
export function runsOf(nodes: DrawnNode[]): { group: string; from: number; to: number }[] {
  const runs: ReturnType<typeof runsOf> = []
  for (const [n, { group }] of nodes.entries()) {
    const last = runs.at(-1)
    if (last?.group === group) last.to = n
    else runs.push({ group, from: n, to: n })
  }
  return runs
}

/** What the signs mean. */
export function PictureLegend({ isMatrix }: { isMatrix: boolean }) {
  const sign = (drawn: Child, text: string) => (
    <li>
      <svg class='network' width='26' height='12' aria-hidden='true'>{drawn}</svg> {text}
    </li>
  )
  return (
    <ul class='legend'>
      {isMatrix
        ? (
          <>
            {sign(<rect class='cell' x='7' width='12' height='12' />, 'Row to column; stronger with more messages')}
            {sign(<path class='cell failing' d='M13 0l6 6-6 6-6-6z' />, 'Some failed')}
          </>
        )
        : (
          <>
            {sign(
              <path class='line' d='M0 6h26' stroke-width='5' />,
              'Thicker with more messages, faded when they are old',
            )}
            {sign(<path class='line failing' d='M0 6h26' stroke-width='3' />, 'Some failed')}
          </>
        )}
      {sign(
        <g class='node agent unseen-node'>
          <circle cx='13' cy='6' r='5' />
        </g>,
        'Not seen in this time',
      )}
      {sign(
        <g class='node channel'>
          <rect x='8' y='1' width='10' height='10' />
        </g>,
        'Channel',
      )}
    </ul>
  )
}
