/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Icon } from './icons.tsx'

/** Longer searches are cut. */
export const maxSearchLength = 200

/** A search field. It works without script, in a form with the method GET; `label` names it. */
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
