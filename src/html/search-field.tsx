/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Icon } from './icons.tsx'

/** Maximum length of a search. Longer searches are truncated. */
export const maxSearchLength = 200

/** A search field in a GET form, which works without script. `label` is its accessible name. */
export function SearchField(
  { label, name = 'search', placeholder = 'Search', ...more }: {
    label: string
    name?: string
    value?: string
    placeholder?: string
    autofocus?: boolean
    autocomplete?: 'off'
    'aria-describedby'?: string
  },
) {
  return (
    <div class='affixed'>
      <span class='before' aria-hidden='true'>
        <Icon name='search' size={16} />
      </span>
      <input
        class='input'
        type='search'
        name={name}
        placeholder={placeholder}
        aria-label={label}
        maxlength={maxSearchLength}
        {...more}
      />
    </div>
  )
}
