/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */

/** Background and two shape colours of each palette. All remain distinct on light and dark pages. */
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

/** SVG path commands for one 8×8 cell, relative to its top left corner. */
const shapes = [
  'h8a8 8 0 0 1-8 8z',
  'm8 0v8a8 8 0 0 1-8-8z',
  'm8 8h-8a8 8 0 0 1 8-8z',
  'm0 8v-8a8 8 0 0 1 8 8z',
  'h8v8h-8z',
  'm4 .8a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4z',
  'm0 4a4 4 0 0 1 8 0z',
  'm0 8a4 4 0 0 1 8 0z',
  '',
]

/** An agent's icon, derived from its alias. Equal aliases get equal icons. Decorative; show it with the alias. */
export function AgentIcon({ alias, size = 28 }: { alias: string; size?: number }) {
  return (
    <svg class='face' width={size} height={size} viewBox='0 0 24 24' aria-hidden='true'>
      <AgentPicture alias={alias} />
    </svg>
  )
}

/** An agent's icon as part of an SVG image, 24 by 24. */
export function AgentPicture({ alias }: { alias: string }) {
  const next = numbers(alias)
  const [background, ...colours] = palettes[next(palettes.length)]
  // A single path per colour keeps pages small, because lists show many icons.
  const paths = ['', '']
  for (let cell = 0; cell < 9; cell++) {
    const shape = shapes[next(shapes.length)]
    const colour = next(3) === 0 ? 1 : 0
    if (shape) paths[colour] += `M${cell % 3 * 8} ${Math.floor(cell / 3) * 8}${shape}`
  }
  return (
    <>
      <rect width='24' height='24' fill={background} />
      {paths.map((path, n) => path && <path d={path} color={colours[n]} />)}
    </>
  )
}

/** Returns a xorshift generator of pseudo-random numbers, seeded with an FNV-1a hash of `text`. Not for secrets. */
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
