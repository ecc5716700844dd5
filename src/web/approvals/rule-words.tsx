/** Describes approval rules in words. */
import type { ShownRule } from '../../grid/approvals/rules.ts'

/** Kinds of senders and recipients, in the form's order. */
export const kinds = {
  any: 'any agent',
  external: 'other accounts',
  people: 'people of the account',
  remote: 'remote agents',
} as const

/** Returns `@alias`, `#channel`, or the title of a kind. */
export function endInWords(end: string): string {
  return Object.hasOwn(kinds, end) ? kinds[end as keyof typeof kinds] : end
}

/** Describes a condition, to be appended to `Messages from … to …`. */
export function conditionInWords({ condition, guardrail, mediaType, minBytes }: ShownRule): string {
  if (condition === 'always') return ''
  if (condition === 'finding') return `, if ${guardrail ?? 'any guardrail'} objects`
  const kind = mediaType === null ? 'a file or other part' : `a part of type ${mediaType}…`
  return `, with ${kind}${minBytes === null ? '' : ` of at least ${minBytes.toLocaleString('en')} bytes`}`
}

export function timeInWords(hours: number): string {
  if (hours % 24 === 0 && hours > 24) return `${hours / 24} days`
  return hours === 1 ? '1 hour' : `${hours} hours`
}
