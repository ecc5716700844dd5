import { base } from './styles/base.ts'
import { content } from './styles/content.ts'
import { controls } from './styles/controls.ts'
import { frame } from './styles/frame.ts'
import { tokens } from './styles/tokens.ts'

/** The one style sheet, light and dark by the system. A string, so that the single binary carries it. */
export const styles = tokens + base + controls + content + frame
