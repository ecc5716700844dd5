import { GridError } from '../../errors.ts'
import { type Bodies, mediaType } from './body.ts'

/** Maximum size of the fields: enough for a message with 10,000 four-byte characters, each byte as `%XX`. */
const maxBytes = 160 * 1024
/** Maximum size of a form's file. */
export const maxFormFileBytes = 4 * 1024 * 1024

/** A posted form's fields and files. */
export class PostedFields extends URLSearchParams {
  readonly files: File[] = []
}

/**
 * Reads a posted form's fields, with line breaks as LF. Refuses NUL, because databases truncate text at it. Fails with
 * `unsupported_media_type`, `payload_too_large` or `invalid_request`.
 */
export async function readForm(bodies: Bodies, request: Request): Promise<PostedFields> {
  const form = new PostedFields()
  for (const [name, value] of await entriesOf(bodies, request)) {
    if (typeof value !== 'string') {
      // An empty file means that the user chose none.
      if (value.size > 0) form.files.push(value)
      continue
    }
    if (`${name}${value}`.includes('\0')) {
      throw new GridError('invalid_request', 'A form must not contain NUL characters.')
    }
    // Browsers send line breaks as CRLF, but `maxlength` counts each as one character.
    form.append(name, value.replaceAll('\r\n', '\n'))
  }
  return form
}

async function entriesOf(bodies: Bodies, request: Request): Promise<Iterable<[string, FormDataEntryValue]>> {
  const type = mediaType(request)
  if (type === 'application/x-www-form-urlencoded') {
    return new URLSearchParams(await bodies.readText(request, { maxBytes, maxDepth: 0, maxTokens: 0 }))
  }
  if (type !== 'multipart/form-data') {
    throw new GridError('unsupported_media_type', 'The form must be application/x-www-form-urlencoded.')
  }
  const body = await bodies.readBytes(request, { maxBytes: maxFormFileBytes + maxBytes })
  const headers = { 'Content-Type': request.headers.get('content-type')! }
  try {
    return await new Response(body, { headers }).formData()
  } catch {
    throw new GridError('invalid_request', 'The form is not complete.')
  }
}
