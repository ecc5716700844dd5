/** The media types that a client accepts, from its `Accept` header. Weights are ignored. @see RFC 9110 §12.5.1 */

/** Whether the header names this media type. */
export function names(headers: Headers, type: string): boolean {
  return acceptedTypes(headers).includes(type)
}

/** Whether the client accepts this media type, by name or wildcard. Without the header, it accepts all types. */
export function takes(headers: Headers, type: string): boolean {
  const types = acceptedTypes(headers)
  return types.length === 0 || [type, `${type.split('/')[0]}/*`, '*/*'].some((one) => types.includes(one))
}

function acceptedTypes(headers: Headers): string[] {
  const accept = headers.get('accept')?.toLowerCase() ?? ''
  return accept.split(',').map((range) => range.split(';')[0].trim()).filter((type) => type !== '')
}
