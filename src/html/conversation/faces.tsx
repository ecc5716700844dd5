/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { AgentPicture } from '../agent-icon.tsx'
import { Icon } from '../icons.tsx'

/**
 * Definitions of all icons on a page that repeats them. The page contains each icon once, and `Face` refers to it. Put
 * this component before the first `Face`. `fresh` names the events that may add icons.
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

/**
 * The icon of an agent, or of a channel if the name starts with `#`. Decorative; show it with the name. The style sheet
 * sets its size.
 */
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

/** Returns an icon's id. Apart from `#`, all characters of a name are valid in a fragment. */
function symbolId(name: string): string {
  return `f-${name.replace('#', 'c-')}`
}
