/** Forms as browsers send them. */
import { GridError } from '../errors.ts'
import { mediaType, readText } from './body.ts'

const maxBytes = 64 * 1024

/**
 * The fields of a posted form. U+0000, which databases cut off, is refused.
 * Fails with `unsupported_media_type`, `payload_too_large` or `invalid_request`.
 */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new GridError('unsupported_media_type', 'Send a form as application/x-www-form-urlencoded.')
  }
  const form = new URLSearchParams(await readText(request, { maxBytes, maxDepth: 0, maxTokens: 0 }))
  for (const [name, value] of form) {
    if (`${name}${value}`.includes('\0')) throw new GridError('invalid_request', 'A form takes no NUL characters.')
  }
  return form
}
