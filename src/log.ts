/** Structured logs: JSON lines on standard error, keys and tokens redacted. */
import type { Log } from './deps.ts'
import { redactedJson } from './lib/redact.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

/** A log that writes lines of `level` and above. */
export function createLog(level: Level, write: (line: string) => void = writeToStandardError): Log {
  const least = levels.indexOf(level)
  const at = (name: Level) => (message: string, fields: Record<string, unknown> = {}) => {
    if (levels.indexOf(name) < least) return
    const line = { time: new Date().toISOString(), level: name, message, ...fields }
    write(redactedJson(line))
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function writeToStandardError(line: string): void {
  // deno-lint-ignore no-console -- the one place that prints logs
  console.error(line)
}
