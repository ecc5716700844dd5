import { attention } from './styles/attention.ts'
import { base } from './styles/base.ts'
import { content } from './styles/content.ts'
import { controls } from './styles/controls.ts'
import { conversation } from './styles/conversation.ts'
import { frame } from './styles/frame.ts'
import { tokens } from './styles/tokens.ts'

/** The style sheet. It follows the light or dark setting of the system. A string, so that the built file contains it. */
export const styles = tokens + base + controls + content + frame + conversation + attention
