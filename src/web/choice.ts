import { GridError } from '../errors.ts'

/** A form value that must be one of `options`; undefined if the form has no such field. Fails with `invalid_input`. */
export function readChoice<const T extends string>(
  form: URLSearchParams,
  field: string,
  options: readonly T[],
): T | undefined {
  const value = form.get(field)
  if (value === null) return undefined
  const option = options.find((option) => option === value)
  if (option === undefined) throw new GridError('invalid_input', 'Choose one of the options.', { field })
  return option
}
