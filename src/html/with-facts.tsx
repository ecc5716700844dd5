/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Icon } from './icons.tsx'

/**
 * Content with facts beside it. In narrow windows the facts are above it, folded: `summary` says the most important of
 * them in one line.
 */
export function WithFacts({ summary, facts, children }: { summary: Child; facts: Child; children: Child }) {
  return (
    <div class='with-facts'>
      <details class='fold facts-fold'>
        <summary>
          <Icon name='next' size={14} />
          <span>{summary}</span>
        </summary>
        <div class='stack'>{facts}</div>
      </details>
      <div class='stack'>{children}</div>
    </div>
  )
}
