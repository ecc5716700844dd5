/** What belongs to a message besides its text, for people: parts inline and parts stored apart, as files. */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PartOfMessage, StoredPart } from '../../store/account/new-message.ts'
import { contentOf, type PartContent, type PartHandle, partIn, shownDetails, storedPart } from '../messaging/parts.ts'

/** A part in a list of the parts of a message. */
export interface ListedPart {
  /** Names it within the message. */
  key: string
  /** As `PartHandle` says it. */
  kind: string
  /** Of a file; undefined without one. */
  name?: string
  mediaType: string
  bytes: number
}

/** What belongs to a message besides its text, by its A2A details. None if they are damaged. */
export function listParts(messageId: string, a2a: string | null): ListedPart[] {
  if (a2a === null) return []
  try {
    const { shown } = shownDetails(messageId, a2a, Infinity)
    const { parts = [], more = [] } = shown as { parts?: unknown[]; more?: PartHandle[] }
    const all = [...parts.map((part, n) => handleAt(messageId, part, n)), ...more]
    return all.flatMap((handle) => {
      if (!handle) return []
      const { kind, name, mediaType = 'application/json', bytes, part_id } = handle
      return [{ key: part_id.slice(messageId.length + 1), kind, ...(name !== undefined && { name }), mediaType, bytes }]
    })
  } catch {
    return []
  }
}

/** The handle of a part that is inline or apart. Undefined for a text that the message shows itself. */
function handleAt(messageId: string, part: unknown, n: number): PartHandle | undefined {
  const { part_id, text, filename } = part as Record<string, unknown>
  if (part_id !== undefined) return part as PartHandle
  if (text !== undefined && filename === undefined) return undefined
  return storedPart(`${messageId}.${n}`, part).handle
}

/**
 * A part of a message that `listParts` listed, for people, who may read the message: a message that `agentId` sent or
 * received. Fails with `part_not_found`.
 */
export async function findListedPart(
  account: AccountStore,
  { id, agentId, isSent }: { id: string; agentId: string; isSent: boolean },
  key: string,
): Promise<PartContent> {
  const partId = `${id}.${key}`
  const { parts } = account.read
  const found = isSent ? await parts.sent(agentId, id, partId) : await parts.received(agentId, id, partId)
  const part = found && (partIn(found, id, partId) ?? inlinePart(found, partId, key))
  if (!part) throw new GridError('part_not_found', 'This part does not exist, or it is gone.')
  return contentOf(found, part)
}

function inlinePart({ a2a }: PartOfMessage, partId: string, key: string): StoredPart | undefined {
  try {
    const { parts = [] } = JSON.parse(a2a ?? '{}') as { parts?: unknown[] }
    const part = /^\d+$/.test(key) ? parts[Number(key)] : undefined
    return part === undefined ? undefined : storedPart(partId, part).part
  } catch {
    // The row is damaged.
    return undefined
  }
}
