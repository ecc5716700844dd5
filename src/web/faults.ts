/** What was refused, beside the field that it is about. */
import type { OpenVisit } from './visit.ts'

/** The fault of one form of a page: below its field's name, or as `rest` when it is about none of them. */
export type FormFault<Field extends string> = Partial<Record<Field | 'rest', string>>

/** Why the form that posts to `action` was refused; nothing when another form was sent. */
export function formFault<Field extends string>(
  { request, fault }: Pick<OpenVisit, 'request' | 'fault'>,
  action: string,
  fields: readonly Field[],
): FormFault<Field> {
  if (!fault || new URL(request.url).pathname !== action) return {}
  const field = fields.find((name) => name === fault.details.field)
  return { [field ?? 'rest']: fault.message } as FormFault<Field>
}
