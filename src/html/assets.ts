import { createHash } from 'node:crypto'
import { iconSvg } from './icons.tsx'
import { script } from './script.ts'
import { attention } from './styles/attention.ts'
import { base } from './styles/base.ts'
import { content } from './styles/content.ts'
import { controls } from './styles/controls.ts'
import { conversation } from './styles/conversation.ts'
import { frame } from './styles/frame.ts'
import { search } from './styles/search.ts'
import { tokens } from './styles/tokens.ts'
import { writing } from './styles/writing.ts'

export interface Asset {
  /** The path contains a hash of the content, so that browsers may cache it forever. */
  path: string
  type: string
  text: string
}

/** The style sheet, which follows the system's light or dark setting. A string, so that builds bundle it. */
const styles = tokens + base + controls + content + frame + conversation + writing + attention + search

export const styleSheet = asset('css', 'text/css', styles)
export const pageScript = asset('js', 'text/javascript', script)
/** The grid's icon for pages, home screens and notifications. */
export const icon = asset('svg', 'image/svg+xml', iconSvg)

/** Prepares `text` as a static file whose path contains its hash. */
export function asset(extension: string, type: string, text: string): Asset {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { path: `/assets/app.${hash}.${extension}`, type: `${type}; charset=utf-8`, text }
}
