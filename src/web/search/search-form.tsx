/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { SearchQuery } from '../../grid/conversations/search-query.ts'

/** Returns a search's URL. `older` is the position to start from. */
export function searchHref(path: string, query: SearchQuery, older?: number): string {
  const { words, isUnread, has, ...filters } = query
  const given = new URLSearchParams(words === '' ? {} : { q: words })
  for (const [name, value] of Object.entries(filters)) if (value !== '') given.set(name, value)
  for (const kind of has) given.append('has', kind)
  if (isUnread) given.set('is', 'unread')
  if (older !== undefined) given.set('older', String(older))
  return given.size === 0 ? path : `${path}?${given}`
}

/** Returns the filters of a query, each as its own field. Users can also type them: `from:@alice`. */
export function filterFields(query: SearchQuery) {
  const texts: [keyof SearchQuery, string, string, string][] = [
    ['from', 'From', 'text', '@alias'],
    ['to', 'To', 'text', '@alias'],
    ['in', 'In', 'text', '#channel'],
    ['after', 'After', 'date', ''],
    ['before', 'Before', 'date', ''],
  ]
  const choices: [string, string, string, boolean][] = [
    ['has', 'file', 'With files', query.has.includes('file')],
    ['has', 'link', 'With links', query.has.includes('link')],
    ['is', 'unread', 'Unread, to you', query.isUnread],
  ]
  return (
    <div class='search-filters'>
      {texts.map(([name, label, type, placeholder]) => (
        <label>
          <span class='soft small'>{label}</span>
          <input class='input' type={type} name={name} value={String(query[name])} placeholder={placeholder} />
        </label>
      ))}
      <fieldset>
        <legend class='unseen'>Only</legend>
        {choices.map(([name, value, label, isChecked]) => (
          <label class='choice'>
            <input type='checkbox' name={name} value={value} checked={isChecked} />
            {label}
          </label>
        ))}
      </fieldset>
    </div>
  )
}
