/** The parts of a message for a remote agent. They contain the content itself, not handles. */
import { withoutInvisible } from '../../lib/invisible-text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import { withText } from '../tasks/shown-task.ts'
import type { PartHandle } from '../message/parts.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import { findPart } from '../message/read-part.ts'

/** A larger part would be in memory several times. */
const maxFileBytes = 1024 * 1024

/** Returns the parts in A2A 1.0 form, including the text. Fails with a `RemoteRefusal` if a file is too large. */
export async function partsOf(account: AccountStore, { body, a2a }: InboxMessage): Promise<unknown[]> {
  const { parts } = JSON.parse(a2a ?? '{}') as { parts?: Record<string, unknown>[] }
  return await whole(account, withText(withoutInvisible(body), a2a, parts))
}

async function whole(account: AccountStore, parts: readonly Record<string, unknown>[]): Promise<unknown[]> {
  const all: unknown[] = []
  for (const part of parts) {
    if (!('part_id' in part)) all.push(part)
    else all.push(...await fetched(account, part as unknown as PartHandle))
  }
  return all
}

async function fetched(
  account: AccountStore,
  { kind, filename, mediaType, metadata, part_id }: PartHandle,
): Promise<unknown[]> {
  const { text = '', length, bytes } = await findPart(account, part_id)
  if (length > maxFileBytes) {
    throw new RemoteRefusal(`A file for a remote agent can have at most ${maxFileBytes} bytes, and one has ${length}.`)
  }
  const more = {
    ...(filename && { filename }),
    ...(mediaType && { mediaType }),
    ...(metadata !== undefined && { metadata }),
  }
  switch (kind) {
    case 'text':
      return [{ text, ...more }]
    case 'raw':
      return [{ raw: (await bytes(0, length)).toString('base64'), ...more }]
    case 'url':
      return [{ url: text, ...more }]
    case 'data':
      return [{ data: JSON.parse(text), ...more }]
    case 'parts':
      return await whole(account, JSON.parse(text))
    default:
      return [JSON.parse(text)]
  }
}
