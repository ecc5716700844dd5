/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Notice } from '../../html/components.tsx'
import type { PageDeps } from '../page-deps.ts'

/** Says where email links can be found on a grid without an SMTP server. */
export function EmailNote({ deps }: { deps: Pick<PageDeps, 'store'> }) {
  if (deps.store.deps.email.isConfigured) return null
  return <Notice>This grid does not send email. The operator can find the link in the server's log.</Notice>
}

/** The text of a button that makes an email link. */
export function linkButton({ store }: Pick<PageDeps, 'store'>): string {
  return store.deps.email.isConfigured ? 'Email me a link' : 'Request a link'
}
