/** Signatures of agent cards. See docs/protocol.md, "Signed cards". @see A2A 1.0 §8.4, RFC 8785 */
import { canonicalJson } from '../../lib/encoding.ts'
import type { DetachedSignature, Sign } from '../../lib/signing.ts'
import type { Card10 } from './card.ts'

/**
 * Sign a card as it is served, `served`. Verifiers make different texts of one card, and need one signature that fits,
 * so there is a signature for each: the served members; the members of 1.0 without those that have their default value;
 * the same without anything that is empty, as the official libraries make it; that in ASCII, as the one for Python makes
 * it; and that without the security schemes, which the one for JavaScript loses of a card that it fetched itself.
 * `card10` has the members of 1.0.
 */
export async function signCard(
  served: Record<string, unknown>,
  card10: Card10,
  sign: Sign,
): Promise<DetachedSignature[]> {
  const withoutDefaults = omitDefaults(card10)
  const cleaned = canonicalJson(omitEmpty(withoutDefaults))
  const texts = new Set([
    canonicalJson(served),
    canonicalJson(withoutDefaults),
    cleaned,
    escapeNonAscii(cleaned),
    canonicalJson(omitEmpty(omitDefaults({ ...card10, securitySchemes: undefined }))),
  ])
  return await Promise.all([...texts].map(sign))
}

/** What ProtoJSON leaves out: empty lists and texts, and `required: false`. The other switches of a card are kept. */
function omitDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(omitDefaults)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name, member]) =>
    !(Array.isArray(member) && member.length === 0) && member !== '' && !(name === 'required' && member === false)
  )
  return Object.fromEntries(kept.map(([name, member]) => [name, omitDefaults(member)]))
}

/** Without what is empty, and what is empty then. Undefined if nothing is left. */
function omitEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(omitEmpty).filter((item) => item !== undefined)
    return items.length > 0 ? items : undefined
  }
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, omitEmpty(member)] as const)
    .filter(([, member]) => member !== undefined)
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

/** As Python writes JSON. Canonical JSON has no control characters. */
function escapeNonAscii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
