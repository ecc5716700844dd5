/** Uploads that wait for a message to name them. See docs/protocol/rest.md, "Uploads". */
import { GridError } from '../../errors.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Upload, Uploader } from '../../store/account/uploads.ts'

/** How long after its creation an upload can be named by a message. */
export const uploadLifetimeMs = hour

export function uploaderOf({ deps: { now } }: AccountStore, agent: string): Uploader {
  return { agent, since: now() - uploadLifetimeMs }
}

export async function openUpload(account: AccountStore, agentId: string, id: string): Promise<Upload> {
  const upload = await account.read.uploads.byId(uploaderOf(account, agentId), id)
  if (!upload) throw noUpload()
  return upload
}

/** Returns the error for unknown, expired and used uploads, and for uploads of other agents. */
export function noUpload(): GridError {
  return new GridError('part_not_found', 'You have no upload with this id that waits for a message.')
}
