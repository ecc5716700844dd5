/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */

/** Ground and two shapes' colours, which keep apart on light and on dark pages. */
const palettes = [
  ['#0b5d48', '#58d6a9', '#f4d58d'],
  ['#1d3f72', '#7fb4f5', '#f7c59f'],
  ['#5b2a86', '#c79bf2', '#8be0d0'],
  ['#7a2e4d', '#f49ab8', '#ffd9a0'],
  ['#7c4a0e', '#f7b955', '#fff0cf'],
  ['#155e75', '#67d3e8', '#fde68a'],
  ['#3f4a1d', '#bdd15b', '#f3f0d0'],
  ['#7f2f20', '#ff9f80', '#ffe0b8'],
  ['#2f3a4a', '#9fb4cc', '#f2b8a0'],
  ['#23405e', '#8fd0c0', '#f6e3a1'],
] as const

/** Shapes of one cell of 8 by 8. */
const shapes = [
  'M0 0h8a8 8 0 0 1-8 8z',
  'M8 0v8a8 8 0 0 1-8-8z',
  'M8 8H0a8 8 0 0 1 8-8z',
  'M0 8V0a8 8 0 0 1 8 8z',
  'M0 0h8v8H0z',
  'M4 .8a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4z',
  'M0 4a4 4 0 0 1 8 0z',
  'M0 8a4 4 0 0 1 8 0z',
  '',
]

/** The face of an agent, made from its alias: the same one always and everywhere. It stands beside the alias. */
export function AgentIcon({ alias, size = 28 }: { alias: string; size?: number }) {
  const next = numbers(alias)
  const [ground, first, second] = palettes[next(palettes.length)]
  const cells = Array.from({ length: 9 }, (_, index) => ({
    shape: shapes[next(shapes.length)],
    colour: next(3) === 0 ? second : first,
    place: `translate(${index % 3 * 8} ${Math.floor(index / 3) * 8})`,
  }))
  return (
    <svg class='face' width={size} height={size} viewBox='0 0 24 24' aria-hidden='true'>
      <rect width='24' height='24' fill={ground} />
      {cells.filter(({ shape }) => shape).map(({ shape, colour, place }) => (
        <path d={shape} fill={colour} stroke={colour} stroke-width='.12' transform={place} />
      ))}
    </svg>
  )
}

/** Whole numbers below a bound, decided by a text: FNV-1a, stirred, then an xorshift. Not for secrets. */
function numbers(text: string): (below: number) => number {
  let state = 0x811c9dc5
  for (const char of text) state = Math.imul(state ^ char.codePointAt(0)!, 0x01000193)
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35) || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 8) % below
  }
}
