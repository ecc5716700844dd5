/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { EmptyState } from '../html/bits.tsx'
import { appPage } from '../html/layout.tsx'
import type { Visit } from './visit.ts'

/** What one sees first of an account. */
export function overview({ frame }: Visit) {
  return appPage(frame('overview'), { title: 'Overview' }, <EmptyState icon='overview' title='Nothing here yet' />)
}
