/** Structured logs: JSON lines on standard error, keys and tokens redacted. */
import type { Log } from './deps.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

/** The published pattern of the grid's credentials, for secret scanners. */
export const credentialPattern = /\bgrid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{49}\b/g

// Wider than what is published: in a log a key may touch other text, or be cut off.
const credentialInText = /grid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{4,}?([0-9A-Za-z]{4})(?![0-9A-Za-z])/g
// JSON escapes C0 alone; these too steer terminals or end lines.
const control = /[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const secretFields = /^(authorization|cookie|set-cookie|password|token|secret|api_?key|.*(token|secret|password))$/i

/** A log that writes lines of `level` and above. */
export function createLog(level: Level, write: (line: string) => void = writeToStandardError): Log {
  const least = levels.indexOf(level)
  const at = (name: Level) => (message: string, fields: Record<string, unknown> = {}) => {
    if (levels.indexOf(name) < least) return
    const line = { time: new Date().toISOString(), level: name, message, ...fields }
    write(redact(JSON.stringify(line, printable)).replace(control, escaped))
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Replace every credential in a text by its kind and last four characters, and claim links by their path. */
export function redact(text: string): string {
  return text.replace(credentialInText, 'grid_$1_…$2').replace(/\/claim\/[\w-]+/g, '/claim/…')
}

function printable(key: string, value: unknown): unknown {
  if (secretFields.test(key) && value) return '…'
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function writeToStandardError(line: string): void {
  // deno-lint-ignore no-console -- the one place that prints logs
  console.error(line)
}
