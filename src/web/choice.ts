import { GridError } from '../errors.ts'

/** What was chosen of a closed list; undefined when the form has no such field. Fails with `invalid_input`. */
export function chosen<const T extends string>(
  form: URLSearchParams,
  field: string,
  options: readonly T[],
): T | undefined {
  const value = form.get(field)
  if (value === null) return undefined
  const option = options.find((option) => option === value)
  if (option === undefined) throw new GridError('invalid_input', 'Choose one of these.', { field })
  return option
}
