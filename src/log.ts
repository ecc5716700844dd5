/** Structured logging: JSON lines on standard error, with credentials redacted. */
import type { Log } from './lib/log.ts'
import { redactedJson } from './lib/redact.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const
type LogLevel = (typeof levels)[number]

/** Creates a log that writes lines of `level` and above. */
export function createLog(level: LogLevel, write: (line: string) => void = writeToStandardError): Log {
  const minimum = levels.indexOf(level)
  const writeAt = (name: LogLevel) => (message: string, fields: Record<string, unknown> = {}) => {
    if (levels.indexOf(name) < minimum) return
    const line = { time: new Date().toISOString(), level: name, message, ...fields }
    write(redactedJson(line))
  }
  return { debug: writeAt('debug'), info: writeAt('info'), warn: writeAt('warn'), error: writeAt('error') }
}

/**
 * Creates the log for email links. Without an email server, the operator forwards the links from the log. Everything
 * except the link is redacted. Writes nothing at the levels `warn` and `error`.
 */
export function createLinkLog(
  level: LogLevel,
  write: (line: string) => void = writeToStandardError,
): (fields: { kind: string; to: string; link: string }) => void {
  let redactedLine = ''
  const log = createLog(level, (line) => redactedLine = line)
  return ({ link, ...fields }) => {
    redactedLine = ''
    log.info('Email is not configured; pass this link on', fields)
    if (redactedLine) write(`${redactedLine.slice(0, -1)},"link":${JSON.stringify(link)}}`)
  }
}

function writeToStandardError(line: string): void {
  // deno-lint-ignore no-console -- the only place that prints logs
  console.error(line)
}
