import { GridError } from '../errors.ts'

/** What was chosen of a closed list; the first when the field is missing. Fails with `invalid_input`. */
export function chosen<const T extends string>(form: URLSearchParams, field: string, options: readonly T[]): T {
  const value = form.get(field) ?? options[0]
  const option = options.find((option) => option === value)
  if (option === undefined) throw new GridError('invalid_input', 'Choose one of these.', { field })
  return option
}
