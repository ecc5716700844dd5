/**
 * Removes secrets, and characters that control a terminal or mislead a reader, from all texts that are logged, stored
 * or shown.
 */
import { hiddenCharacter, withoutInvisible } from './invisible-text.ts'

// Wider than the published pattern, because a key in a log may be truncated, or be next to other text or another key.
const credentialInText =
  /grid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{4,}?([0-9A-Za-z]{4})(?=grid_(?:agt|adm|oat|ort|cs)_|[^0-9A-Za-z]|$)/g
// JSON escapes only C0 controls. These characters also control terminals or end lines.
const controlCharacter = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g
// Matches a URL's query, because some services accept keys there.
const urlQuery = /(https?:\/\/[^\s"?#\\]{1,2000})\?[^\s"#\\]+/g
// Matches the user and password in `https://user:password@host`.
const urlUser = /:\/\/[^\s/@"]+@/g

// Matches an email link's token in a path: 256 bits in base62.
const linkToken = /\/[0-9A-Za-z]{43}(?![0-9A-Za-z])/g

// Matches an incoming hook's URL, even with a typo.
const incomingPath = /\/in\/[\w%.-]{20,}/g

const secretFields = /^(authorization|cookie|set-cookie|password|token|secret|api_?key|.*(token|secret|password))$/i

/**
 * Replaces credentials in a text with their kind and last four characters. Replaces link tokens, and the users and
 * queries of URLs, with `…`.
 */
export function redact(text: string): string {
  return text.replace(credentialInText, 'grid_$1_…$2').replace(/\/claim\/[\w-]+/g, '/claim/…')
    .replace(incomingPath, '/in/…').replace(linkToken, '/…').replace(urlUser, '://…@').replace(urlQuery, '$1?…')
}

/**
 * Formats a value as JSON, without the values of fields with secret names and without credentials in any text. Escapes
 * invisible characters.
 */
export function redactedJson(value: unknown): string {
  return redact(JSON.stringify(value, hideSecrets)).replace(hiddenCharacter, escapeControl)
}

/** Escapes the characters in a JSON text that control terminals, end lines, or change the text direction. */
export function escapeControls(json: string): string {
  return json.replace(controlCharacter, escapeControl)
}

/**
 * Formats a value as JSON on one line, for a model that reads it as text. No line of a message can then look like a
 * line of the result, and no character changes the direction of later text.
 */
export function jsonLine(value: unknown): string {
  return escapeControls(JSON.stringify(value))
}

function hideSecrets(key: string, value: unknown): unknown {
  if (secretFields.test(key) && value) return '…'
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}

function escapeControl(char: string): string {
  return char.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}

/**
 * Cleans other people's text for a page, a log or a terminal. Keeps lines and tabs. Removes invisible characters, and
 * those that move the cursor, or hide or reorder later text.
 */
export function printable(text: string): string {
  return withoutInvisible(text.toWellFormed().replace(/(?![\n\t])[\p{Cc}\u2028\u2029]/gu, ''))
}

/** Cleans text like `printable`, on one line of at most `maxLength` UTF-16 units, for example a server's response. */
export function printableLine(text: string, maxLength: number): string {
  return printable(text.slice(0, 4 * maxLength).replace(/\s+/g, ' ')).trim().slice(0, maxLength).toWellFormed()
    .trimEnd()
}
