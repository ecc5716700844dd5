/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Disclosure } from '../../html/components.tsx'
import { CopyBlock } from '../../html/secrets.tsx'
import { keyPlaceholder, snippets } from '../../lib/client-snippets.ts'

/** The snippets of all clients, one open at a time. Without a `secret` they contain a placeholder. */
export function Connect({ baseUrl, secret }: { baseUrl: string; secret?: string }) {
  return (
    <div class='folds'>
      {snippets({ baseUrl, key: secret ?? keyPlaceholder }).map(({ id, title, where, text }, index) => (
        <Disclosure title={title} group='connect' isOpen={index === 0}>
          <CopyBlock id={`connect-${id}`} label={where} text={text} />
        </Disclosure>
      ))}
    </div>
  )
}
