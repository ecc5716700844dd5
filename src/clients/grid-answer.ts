/**
 * What the client programs believe of a grid. An answer may be of a hostile server: what is in it goes into names of
 * folders, files of configuration, units of services, prompts and terminals. See docs/security.md, "Client programs".
 */
import { aliasPattern } from '../lib/alias.ts'

/** More than any answer of a grid has, and less than a machine has memory. In characters. */
export const maxAnswerLength = 32 * 1024 * 1024
const maxLineLength = 1_000

/** An alias of an answer, with `@`; undefined if it is none. */
export function aliasIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const alias = value.replace(/^@/, '')
  return aliasPattern.test(alias) ? `@${alias}` : undefined
}

export function keyIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^grid_agt_[0-9A-Za-z]{49}$/.test(value) ? value : undefined
}

/** An address over HTTP of an answer, without a name, a query and a fragment; undefined if it is none. */
export function addressIn(value: unknown): URL | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const { protocol, username, password, search, hash } = new URL(value)
  const isBare = [username, password, search, hash].every((part) => part === '')
  return ['http:', 'https:'].includes(protocol) && isBare ? new URL(value) : undefined
}

/** A text of an answer on one line, without what a terminal would obey. */
export function lineOf(text: string): string {
  return text.slice(0, maxLineLength).replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}

/** A text of an answer for a terminal: it has lines and tabs, and nothing that moves the cursor or hides what follows. */
export function printable(text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '')
}
