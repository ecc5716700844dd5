/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Forms that wait until their user has signed in or proved who they are. See docs/architecture.md, "Forms that wait". */
import { GridError } from '../errors.ts'

/** Fields that never wait: what only the old session knows, and every secret that a user types. */
export const droppedFields = ['csrf', 'password', 'current', 'token', 'remoteToken', 'code', 'passkey']

/**
 * The fields of a posted form, as the field `kept` carries them: JSON, which makes the form hardly longer. A form that
 * waits already stays as it is.
 */
export function keptFields(form: URLSearchParams): string {
  return form.get('kept') ?? JSON.stringify([...form].filter(([name]) => !droppedFields.includes(name)))
}

/** The form that has waited, from the form that carries it; undefined if none has. Fails with `invalid_request`. */
export function keptForm(form: URLSearchParams): URLSearchParams | undefined {
  const kept = form.get('kept')
  if (kept === null) return undefined
  const fields = jsonOf(kept)
  if (Array.isArray(fields) && fields.every(isField)) return new URLSearchParams(fields)
  throw new GridError('invalid_request', 'The form that waited was changed. Open its page again.')
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether it is a name and a value. Databases truncate text at NUL. */
function isField(field: unknown): field is [string, string] {
  return Array.isArray(field) && field.length === 2 &&
    field.every((text) => typeof text === 'string' && !text.includes('\0'))
}

/** Carries a form that waits through the forms of a page. */
export function KeptForm({ kept }: { kept: string | undefined }) {
  return kept === undefined ? null : <input type='hidden' name='kept' value={kept} />
}
