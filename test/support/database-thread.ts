/** The database thread in tests, which vitest cannot start from its source on Node 20. */
import type { Client } from '@libsql/client'
import { pathToFileURL } from 'node:url'
import { build } from '../../scripts/build.js'
import { connect } from '../../src/store/driver/local-client.ts'
import { localPath } from '../../src/store/driver/local-file.ts'
import { startThread } from '../../src/store/driver/thread-connection.ts'

/** The client of a local file whose statements run on a thread of their own. */
export async function connectThread(
  { url }: { url: string },
  onLost: (error: Error) => void = () => {},
  program?: URL,
): Promise<Client> {
  program ??= pathToFileURL(await build('src/store/driver/database-thread.ts'))
  return connect({ url, thread: await startThread(localPath(url)!, onLost, program) })
}
