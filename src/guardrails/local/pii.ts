/** Finds personal data and keys. */
import * as z from 'zod'
import { provider, type Span } from '../provider.ts'
import { embedded, unescaped, withoutTags } from './encodings.ts'
import { plain } from './fold.ts'
import { email, phone } from './pii/contact.ts'
import type { Detector } from './pii/detector.ts'
import { apiKey } from './pii/keys.ts'
import { nationalIds } from './pii/national-ids.ts'
import { card, iban } from './pii/payment.ts'
import { type Found, searchOf, spanOf, type View } from './view.ts'

/** In order of precedence, so that a card number does not count as a phone number. */
const detectors: readonly Detector[] = [apiKey, email, iban, card, nationalIds, phone]

const kinds = ['email', 'phone', 'card', 'iban', 'national_id', 'api_key'] as const

export const pii = provider({
  id: 'pii',
  name: 'Personal data',
  kind: 'local',
  description: 'Finds email addresses, phone numbers, credit cards, IBANs, national ids and API keys.',
  config: {
    kinds: z.array(z.enum(kinds)).min(1).default([...kinds]).describe('What to look for'),
  },
  prepare({ kinds }) {
    const chosen = detectors.filter(({ id }) => (kinds as readonly string[]).includes(id))
    return (guarded) => search(guarded, (reading) => findIn(reading, chosen))
  },
})

interface Reading {
  readonly view: View
  /** Whether tags were removed. If so, only keys are searched, because the numbers of tables have run together. */
  readonly isWithoutTags?: boolean
}

const search = searchOf((text): Reading[] => {
  const written = plain(unescaped({ text }))
  const untagged = withoutTags(written)
  return [
    { view: written },
    ...(untagged === written ? [] : [{ view: untagged, isWithoutTags: true }]),
    // Omits decoded text without letters, which is too often meaningless.
    ...embedded(written).filter(({ text }) => /\p{L}/u.test(text)).map((view) => ({ view })),
  ]
})

function findIn({ view, isWithoutTags }: Reading, chosen: readonly Detector[]): Found[] {
  const found: Found[] = []
  for (const { kind, find } of chosen.filter(({ id }) => !isWithoutTags || id === 'api_key')) {
    const free = find(view.text).filter((span) => !found.some((other) => overlaps(span, other)))
    found.push(...free.map(({ start, end }) => ({ kind, start, end })))
  }
  return found.map(({ kind, start, end }) => ({ kind, ...spanOf(view, start, end) }))
}

function overlaps(a: Span, b: Span): boolean {
  return a.start < b.end && b.start < a.end
}
