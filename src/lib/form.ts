/** Forms as browsers send them. */
import { GridError } from '../errors.ts'
import { mediaType, readText } from './body.ts'

const maxBytes = 64 * 1024

/**
 * The fields of a posted form, lines ending in LF. U+0000, which databases cut off, is refused.
 * Fails with `unsupported_media_type`, `payload_too_large` or `invalid_request`.
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new GridError('unsupported_media_type', 'Send a form as application/x-www-form-urlencoded.')
  }
  const text = await readText(request, { maxBytes, maxDepth: 0, maxTokens: 0 })
  const form = new URLSearchParams()
  for (const [name, value] of new URLSearchParams(text)) {
    if (`${name}${value}`.includes('\0')) throw new GridError('invalid_request', 'A form takes no NUL characters.')
    // Browsers send every line break as CRLF, and count it as one character.
    form.append(name, value.replaceAll('\r\n', '\n'))
  }
  return form
}
