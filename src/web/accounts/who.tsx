/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { AgentIcon } from '../../html/agent-icon.tsx'

/** An agent by face and alias, leading to its page, with a line about it below. */
export function AgentName({ alias, href, children }: { alias: string; href: string; children?: Child }) {
  return (
    <span class='who'>
      <AgentIcon alias={alias} />
      <div>
        <a href={href}>@{alias}</a>
        {children && <div class='soft small cut'>{children}</div>}
      </div>
    </span>
  )
}
