/** A message's separately stored parts and its uploads. See docs/protocol/rest.md, "Uploads". */
import { invalidInput } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { StoredPart } from '../../store/account/new-message.ts'
import type { A2aDetails, Concern, Sender } from '../message/outgoing-message.ts'
import { openUpload, uploaderOf } from '../message/open-upload.ts'
import { hasUploads, isUploadPart } from '../message/parts.ts'

/** Links a message's uploads in its unit. Uploads that guardrails replaced stay unlinked, and are removed. */
export const files: Concern = {
  plan({ account, sender, message, draft: { details } }) {
    if (message.largeParts === null) return undefined
    const { parts, uploads } = account.change
    const add = parts.add(message)
    if (!details || !hasUploads(details)) return { statements: [add] }
    const apart: StoredPart[] = JSON.parse(message.largeParts)
    const ids = [...new Set(apart.flatMap(({ encoding, content }) => encoding === 'upload' ? [content] : []))]
    if (ids.length === 0) return { statements: [add] }
    return {
      preconditions: [uploads.requireComplete(uploaderOf(account, sender.agentId), message.id, ids)],
      statements: [add, uploads.name(message, ids)],
      needsMessage: true,
      explain: () => withUploads(account, sender, details),
    }
  },
}

/** Adds the labels that were declared when the uploads began. Fails with `part_not_found` or `invalid_input`. */
export async function withUploads(
  account: AccountStore,
  { agentId }: Sender,
  details: A2aDetails | undefined,
): Promise<A2aDetails | undefined> {
  if (!details?.parts || !hasUploads(details)) return details
  const parts = await Promise.all(details.parts.map(async (part) => {
    if (!isUploadPart(part)) return part
    const { filename, mediaType, bytes, received } = await openUpload(account, agentId, part.upload)
    if (received < bytes) throw invalidInput(`An upload has ${received} of its ${bytes} bytes. Complete it.`, 'parts')
    return { ...filename !== null && { filename }, ...mediaType !== null && { mediaType }, ...part, bytes }
  }))
  return { ...details, parts }
}
