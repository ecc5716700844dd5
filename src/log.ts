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

/**
 * The one line that shows a link which opens something, for a grid without mail: whoever reads the log
 * hands it on. Everything else of the line is redacted, and at `warn` and `error` there is no line.
 */
export function createLinkLog(
  level: Level,
  write: (line: string) => void = writeToStandardError,
): (fields: { kind: string; to: string; link: string }) => void {
  let linkless = ''
  const log = createLog(level, (line) => linkless = line)
  return ({ link, ...fields }) => {
    linkless = ''
    log.info('Mail is not configured; hand this link on', fields)
    if (linkless) write(`${linkless.slice(0, -1)},"link":${JSON.stringify(link)}}`)
  }
}

function writeToStandardError(line: string): void {
  // deno-lint-ignore no-console -- the one place that prints logs
  console.error(line)
}
