/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { AgentIcon } from '../../html/agent-icon.tsx'
import { Badge } from '../../html/components.tsx'

/** An agent's icon and alias, linked to its page, with an optional line below. Marks people with a badge. */
export function AgentName(
  { alias, href, isPerson, children }: { alias: string; href: string; isPerson?: boolean; children?: Child },
) {
  return (
    <span class='who'>
      <AgentIcon alias={alias} />
      <div>
        <a href={href}>@{alias}</a>
        {isPerson && (
          <>
            {' '}
            <Badge kind='info'>person</Badge>
          </>
        )}
        {children && <div class='soft small cut' dir='auto'>{children}</div>}
      </div>
    </span>
  )
}
