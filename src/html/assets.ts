import { createHash } from 'node:crypto'
import { script } from './script.ts'
import { styles } from './styles.ts'

/** A static file that pages load. */
export interface Asset {
  /** Contains a hash of the content, so browsers may cache it forever. */
  path: string
  type: string
  text: string
}

export const styleSheet = asset('css', 'text/css', styles)
export const pageScript = asset('js', 'text/javascript', script)

function asset(extension: string, type: string, text: string): Asset {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { path: `/assets/app.${hash}.${extension}`, type: `${type}; charset=utf-8`, text }
}
