/** Applies redactions to a message, also separately for members of a channel. */
import { setImmediate } from 'node:timers/promises'
import { once } from '../../lib/lazy.ts'
import { type ChangedDelivery, lengthOf, type NewMessage } from '../../store/account/new-message.ts'
import { type Finding, isRefused } from './ask-guardrails.ts'
import { type MessageContent, withMasked, withReplacement } from './guarded-text.ts'
import { asStored } from './long-text.ts'
import { splitDetails } from './parts.ts'
import { withoutContents } from './uploads.ts'

/** Maximum number of spans of all guardrails together; with more, everything is masked. */
const maxSpansTogether = 10_000
/** Maximum UTF-16 units of all redacted copies of a post. */
const mostCopied = 6_000_000

/** Masks the spans of all guardrails together. A rewritten text is used only if no other guardrail redacts. */
export function redactedContent(content: MessageContent, text: string, redactions: Finding[]): MessageContent {
  const distinct = [...new Map(redactions.map((finding) => [finding.guardrail.id, finding])).values()]
  const [{ replacement }] = distinct
  if (distinct.length === 1 && replacement !== undefined) {
    return withReplacement(content, text, replacement)
  }
  const spans = distinct.flatMap(({ spans }) => spans)
  // If a guardrail gives no spans, the safe parts are unknown, so everything is masked.
  const isWhole = spans.length > maxSpansTogether ||
    distinct.some(({ spans, replacement }) => replacement !== undefined || spans.length === 0)
  return withMasked(content, text, isWhole ? [] : spans)
}

type Post = Pick<NewMessage, 'id' | 'body' | 'a2a'>

/**
 * Returns redacted copies of a post for members whose guardrails object. Members with the same objections share a copy.
 * When all copies together are too large, the remaining members get the post without text.
 */
export async function changedDeliveries(
  message: Post,
  content: MessageContent,
  text: string,
  found: Finding[],
): Promise<ChangedDelivery[]> {
  const unchanged = { body: null, a2a: null, chars: lengthOf(message) }
  const masked = once(() => copyOf(message, content, withMasked(content, text, [])))
  const deliveries: ChangedDelivery[] = []
  let left = mostCopied
  for (const { agentIds, findings } of byAgents(found)) {
    const redactions = findings.filter(({ action }) => action === 'redacted')
    let copy: ChangedDelivery['copy']
    if (redactions.length === 0) copy = unchanged
    else {
      copy = copyOf(message, content, redactedContent(content, text, redactions))
      if (agentIds.length * sizeOf(copy) > left) copy = masked()
      left -= agentIds.length * sizeOf(copy)
    }
    deliveries.push({ agentIds, ...(copy && !isRefused(findings) && { copy }) })
    // Yields to other calls: there may be a copy for each of 500 members.
    await setImmediate()
  }
  return deliveries
}

function byAgents(found: Finding[]): { agentIds: string[]; findings: Finding[] }[] {
  const indexesOf = new Map<string, number[]>()
  for (const [index, { guardrail }] of found.entries()) {
    for (const agentId of guardrail.agentIds) {
      const indexes = indexesOf.get(agentId)
      if (indexes) indexes.push(index)
      else indexesOf.set(agentId, [index])
    }
  }
  const groups = new Map<string, { agentIds: string[]; findings: Finding[] }>()
  for (const [agentId, indexes] of indexesOf) {
    const key = indexes.join()
    const group = groups.get(key)
    if (group) group.agentIds.push(agentId)
    else groups.set(key, { agentIds: [agentId], findings: indexes.map((index) => found[index]) })
  }
  return [...groups.values()]
}

/** Returns a redacted copy. Undefined if redaction would change the conversation, which a delivery cannot override. */
function copyOf({ id }: Post, content: MessageContent, redacted: MessageContent): ChangedDelivery['copy'] {
  if (redacted.conversationId !== content.conversationId) return undefined
  const { body, details } = asStored(redacted.body, redacted.details)
  // The copy has the complete details, because the stored parts are for the other members.
  const a2a = details ? JSON.stringify(withoutContents({ ...details })) : null
  const inline = details ? JSON.stringify(splitDetails(id, { ...details }).inline) : null
  return { body, a2a, chars: lengthOf({ body, a2a: inline }) }
}

function sizeOf(copy: ChangedDelivery['copy']): number {
  return (copy?.body?.length ?? 0) + (copy?.a2a?.length ?? 0)
}
