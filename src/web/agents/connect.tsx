/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Disclosure } from '../../html/components.tsx'
import { CopyBlock } from '../../html/secrets.tsx'
import { keyPlaceholder, type Snippet, snippets } from '../../lib/client-snippets.ts'

/** The snippets of all clients with a key. Without a `secret` they contain a placeholder. */
export function Connect({ baseUrl, secret, isOpen = true }: { baseUrl: string; secret?: string; isOpen?: boolean }) {
  const all = snippets({ baseUrl, key: secret ?? keyPlaceholder })
  return <Snippets group='connect' snippets={all} isOpen={isOpen} />
}

/** Snippets, one open at a time; with `isOpen`, the first to begin with. `group` is unique on the page. */
export function Snippets({ group, snippets, isOpen }: { group: string; snippets: Snippet[]; isOpen: boolean }) {
  return (
    <div class='folds'>
      {snippets.map(({ id, title, where, text }, index) => (
        <Disclosure title={title} group={group} isOpen={isOpen && index === 0}>
          <CopyBlock id={`${group}-${id}`} label={where} text={text} />
        </Disclosure>
      ))}
    </div>
  )
}
