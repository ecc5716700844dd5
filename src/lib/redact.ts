/** Secrets do not leave: in logs, in the activity log, in anything that is kept or shown. */

/** The published pattern of the grid's credentials, for secret scanners. */
export const credentialPattern = /\bgrid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{49}\b/g

// Wider than what is published: in a log a key may touch other text, also the next key, or be cut off.
const credentialInText =
  /grid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{4,}?([0-9A-Za-z]{4})(?=grid_(?:agt|adm|oat|ort|cs)_|[^0-9A-Za-z]|$)/g
// JSON escapes C0 alone; these too steer terminals or end lines.
const control = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
// What stands behind the `?` of an address, where services take keys too.
const queryOfAddress = /(https?:\/\/[^\s"?#\\]{1,2000})\?[^\s"#\\]+/g
// The name and password of `https://name:password@host`.
const userInAddress = /:\/\/[^\s/@"]+@/g

// A segment of a path that is the token of a link: of 256 bits, in base62.
const linkToken = /\/[0-9A-Za-z]{43}(?![0-9A-Za-z])/g

const secretFields = /^(authorization|cookie|set-cookie|password|token|secret|api_?key|.*(token|secret|password))$/i

/** Replace every credential in a text by its kind and last four characters; tokens of links, and users in addresses, by `…`. */
export function redact(text: string): string {
  return text.replace(credentialInText, 'grid_$1_…$2').replace(/\/claim\/[\w-]+/g, '/claim/…')
    .replace(linkToken, '/…').replace(userInAddress, '://…@').replace(queryOfAddress, '$1?…')
}

/** JSON without the values of fields that hold secrets, by their names, and without credentials anywhere. */
export function redactedJson(value: unknown): string {
  return redact(JSON.stringify(value, hideSecrets)).replace(control, escaped)
}

function hideSecrets(key: string, value: unknown): unknown {
  if (secretFields.test(key) && value) return '…'
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
