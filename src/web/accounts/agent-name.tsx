/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { AgentIcon } from '../../html/agent-icon.tsx'

/** An agent with icon and alias, linked to its page, with an optional line below. */
export function AgentName({ alias, href, children }: { alias: string; href: string; children?: Child }) {
  return (
    <span class='who'>
      <AgentIcon alias={alias} />
      <div>
        <a href={href}>@{alias}</a>
        {children && <div class='soft small cut' dir='auto'>{children}</div>}
      </div>
    </span>
  )
}
