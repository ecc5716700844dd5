import type { PublicVisit } from './visit.ts'

/** Error messages of one form, by field. `rest` is an error that belongs to none of the fields. */
export type FormErrors<Field extends string> = Partial<Record<Field | 'rest', string>>

/** Why the form that posts to `action` was rejected; empty if this request did not post it. */
export function formErrors<Field extends string>(
  { request, inputError }: Pick<PublicVisit, 'request' | 'inputError'>,
  action: string,
  fields: readonly Field[],
): FormErrors<Field> {
  if (!inputError || new URL(request.url).pathname !== action) return {}
  const refused = inputError.details.field
  // An entry of a list, such as `config.patterns.1`, belongs to the field of the list.
  const field = fields.find((name) => name === refused || refused?.startsWith(`${name}.`))
  return { [field ?? 'rest']: inputError.message } as FormErrors<Field>
}
