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
  const field = fields.find((name) => name === inputError.details.field)
  return { [field ?? 'rest']: inputError.message } as FormErrors<Field>
}
