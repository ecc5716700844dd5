/** The parts of a message that are stored apart, and the uploads that it names. See docs/protocol/rest.md, "Uploads". */
import { GridError, invalidInput } from '../../errors.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { StoredPart } from '../../store/account/new-message.ts'
import type { Upload, Uploader } from '../../store/account/uploads.ts'
import type { A2aDetails, Concern, Sender } from '../messaging/outgoing-message.ts'
import { hasUploads, isUploadPart } from '../messaging/parts.ts'

/** How long after its beginning an upload can be named by a message. */
export const uploadLifetimeMs = hour

/** Names the uploads of a message in its unit. Those that guardrails have replaced stay unnamed, and are removed. */
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

/** Details whose parts know what was said when their uploads began. Fails with `part_not_found` or `invalid_input`. */
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

export function uploaderOf({ deps: { now } }: AccountStore, agent: string): Uploader {
  return { agent, since: now() - uploadLifetimeMs }
}

export async function openUpload(account: AccountStore, agentId: string, id: string): Promise<Upload> {
  const upload = await account.read.uploads.byId(uploaderOf(account, agentId), id)
  if (!upload) throw noUpload()
  return upload
}

/** What an unknown, expired, named or foreign upload looks like. */
export function noUpload(): GridError {
  return new GridError('part_not_found', 'You have no upload with this id that waits for a message.')
}
