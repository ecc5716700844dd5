/** The parts of a message as a remote agent gets them: whole, and not as handles. */
import { withoutInvisible } from '../../lib/invisible-text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import { withText } from '../tasks/shown-task.ts'
import { findPart, type PartHandle } from '../messaging/parts.ts'

/** In 1.0 form, the text among them. */
export async function partsOf(account: AccountStore, { body, a2a }: InboxMessage): Promise<unknown[]> {
  const { parts } = JSON.parse(a2a ?? '{}') as { parts?: Record<string, unknown>[] }
  const whole: unknown[] = []
  for (const part of withText(withoutInvisible(body), a2a, parts)) {
    if (!('part_id' in part)) whole.push(part)
    else whole.push(...await fetched(account, part as unknown as PartHandle))
  }
  return whole
}

async function fetched(
  account: AccountStore,
  { kind, filename, mediaType, metadata, part_id }: PartHandle,
): Promise<unknown[]> {
  const { text = '', bytes } = await findPart(account, part_id)
  const more = {
    ...(filename && { filename }),
    ...(mediaType && { mediaType }),
    ...(metadata !== undefined && { metadata }),
  }
  switch (kind) {
    case 'text':
      return [{ text, ...more }]
    case 'raw':
      return [{ raw: bytes.toString('base64'), ...more }]
    case 'url':
      return [{ url: text, ...more }]
    case 'data':
      return [{ data: JSON.parse(text), ...more }]
    case 'parts':
      return JSON.parse(text)
    default:
      return [JSON.parse(text)]
  }
}
