/** Structured logs: JSON lines on standard error, keys and tokens redacted. */
import type { Log } from './deps.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

/** The published pattern of the grid's credentials, for secret scanners. */
export const credentialPattern = /\bgrid_(agt|adm|oat|ort|cs)_[0-9A-Za-z]{45}([0-9A-Za-z]{4})\b/g

const secretFields = /^(authorization|cookie|set-cookie|password|token|secret|api_?key|.*(token|secret|password))$/i

/** A log that writes lines of `level` and above. */
export function createLog(level: Level, write: (line: string) => void = writeToStandardError): Log {
  const least = levels.indexOf(level)
  const at = (name: Level) => (message: string, fields: Record<string, unknown> = {}) => {
    if (levels.indexOf(name) < least) return
    const line = { time: new Date().toISOString(), level: name, message, ...fields }
    write(redact(JSON.stringify(line, printable)))
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Replace every credential in a text by its kind and last four characters, and claim links by their path. */
export function redact(text: string): string {
  return text.replace(credentialPattern, 'grid_$1_…$2').replace(/\/claim\/[\w-]+/g, '/claim/…')
}

function printable(key: string, value: unknown): unknown {
  if (secretFields.test(key) && value) return '…'
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}

function writeToStandardError(line: string): void {
  // deno-lint-ignore no-console -- the one place that prints logs
  console.error(line)
}
