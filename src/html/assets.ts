import { createHash } from 'node:crypto'
import { script } from './script.ts'
import { styles } from './styles.ts'

export interface Asset {
  /** Changes with the content, so that browsers may keep it for ever. */
  path: string
  type: string
  text: string
}

export const styleSheet = asset('css', 'text/css', styles)
export const pageScript = asset('js', 'text/javascript', script)

function asset(ending: string, type: string, text: string): Asset {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { path: `/assets/app.${hash}.${ending}`, type: `${type}; charset=utf-8`, text }
}
