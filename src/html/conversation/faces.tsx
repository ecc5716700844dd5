/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { AgentPicture } from '../agent-icon.tsx'
import { Icon } from '../icons.tsx'

/**
 * The icons of a page that shows each of them many times: every icon is in the page once, and `Face` refers to it. They
 * must be in the page before the first `Face`. `fresh`: the news with which other icons may come.
 */
export function FaceSymbols({ names, fresh }: { names: Iterable<string>; fresh?: string }) {
  return (
    <svg class='symbols' aria-hidden='true' id='faces' data-fresh={fresh}>
      {[...new Set(names)].map((name) => (
        <symbol id={symbolId(name)} viewBox='0 0 24 24'>
          {name.startsWith('#') ? <ChannelFace /> : <AgentPicture alias={name} />}
        </symbol>
      ))}
    </svg>
  )
}

/** The icon of an agent, or of a channel with its `#`. Decorative; show it with the name. The style sheet has its size. */
export function Face({ name }: { name: string }) {
  return (
    <svg aria-hidden='true'>
      <use href={`#${symbolId(name)}`} />
    </svg>
  )
}

function ChannelFace() {
  return (
    <g>
      <rect class='channel-face' width='24' height='24' />
      <g transform='translate(3 3)'>
        <Icon name='channels' />
      </g>
    </g>
  )
}

/** Names contain only what a fragment may contain, but for the `#`. */
function symbolId(name: string): string {
  return `f-${name.replace('#', 'c-')}`
}
