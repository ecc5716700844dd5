import { GridError } from '../../errors.ts'
import { type Bodies, mediaType } from './body.ts'

/** A message of 10,000 characters of 4 bytes, each byte as `%XX`, and the other fields. */
const maxBytes = 160 * 1024

/**
 * Read the fields of a posted form, with line breaks as LF. NUL is refused, because databases truncate text at it.
 * Fails with `unsupported_media_type`, `payload_too_large` or `invalid_request`.
 */
export async function readForm(bodies: Bodies, request: Request): Promise<URLSearchParams> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new GridError('unsupported_media_type', 'The form must be application/x-www-form-urlencoded.')
  }
  const text = await bodies.readText(request, { maxBytes, maxDepth: 0, maxTokens: 0 })
  const form = new URLSearchParams()
  for (const [name, value] of new URLSearchParams(text)) {
    if (`${name}${value}`.includes('\0')) {
      throw new GridError('invalid_request', 'A form must not contain NUL characters.')
    }
    // Browsers send line breaks as CRLF, but `maxlength` counts them as one character.
    form.append(name, value.replaceAll('\r\n', '\n'))
  }
  return form
}
