/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Notice } from '../../html/bits.tsx'
import type { Web } from '../web.ts'

/** Where links are found on a grid without a mail server. */
export function MailNote({ web }: { web: Pick<Web, 'store'> }) {
  if (web.store.deps.mail.isConfigured) return null
  return <Notice>This grid sends no mail. Whoever runs it finds the link in the server's log.</Notice>
}
