/** The parts of messages and artifacts, in 1.0 form. */
import { invalidInput } from '../../errors.ts'
import { canonicalBase64 } from '../../lib/encoding.ts'
import { hasAtMost } from '../../lib/text.ts'

interface PartLabels {
  mediaType?: string
  filename?: string
  metadata?: Record<string, unknown>
}

export type Part = ({ text: string } | { raw: string } | { url: string } | { data: unknown }) & PartLabels

/** A part as an agent submits it: with its content, or with the id of an upload. */
export type GivenPart = Part | ({ upload: string } & PartLabels)

const contents = ['text', 'raw', 'url', 'data'] as const
const labels = ['mediaType', 'filename'] as const
const maxLabelLength = 1_000

/** Returns a part in 1.0 form, with canonical base64 and without members unknown to A2A. Fails with `invalid_input`. */
export function asPart(given: Record<string, unknown>, field = 'parts'): Part {
  const present = contents.filter((name) => given[name] !== undefined)
  if (present.length !== 1) {
    throw invalidInput('A part must have exactly one of text, raw, url and data.', 'parts')
  }
  for (const name of ['text', 'raw', 'url', ...labels]) {
    if (given[name] !== undefined && typeof given[name] !== 'string') {
      throw invalidInput(`\`${name}\` must be a string.`, 'parts')
    }
  }
  if (labels.some((name) => !hasAtMost(String(given[name] ?? ''), maxLabelLength))) {
    throw invalidInput(`A media type or file name must have at most ${maxLabelLength} characters.`, 'parts')
  }
  if (typeof (given.metadata ?? {}) !== 'object' || Array.isArray(given.metadata)) {
    throw invalidInput('`metadata` must be an object.', 'parts')
  }
  const raw = typeof given.raw === 'string' ? canonicalBase64(given.raw) : undefined
  if (given.raw !== undefined && raw === undefined) throw invalidInput(`${field}.raw must be base64.`, `${field}.raw`)
  const known = [...present, ...labels, 'metadata'].filter((name) => given[name] !== undefined)
  const part = Object.fromEntries(known.map((name) => [name, given[name]]))
  return { ...part, ...(raw !== undefined && { raw }) } as unknown as Part
}

export function textOf(parts: readonly GivenPart[]): string {
  return parts.flatMap((part) => 'text' in part && part.text !== '' ? [part.text] : []).join('\n')
}

export function isBareText(part: GivenPart): boolean {
  return 'text' in part && !part.mediaType && !part.filename && !part.metadata
}
