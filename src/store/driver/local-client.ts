/** The database client. A remote database has the client of the driver, whose commits are ours; a local file has ours. */
import type { Client } from '@libsql/client'
import { FileClient } from './file-client.ts'
import { localPath } from './local-file.ts'
import { connectRemote, type RemoteSettings } from './remote-client.ts'

/** The settings of the store. A local file uses only `url`, and returns integers as numbers. */
type ClientSettings = Pick<RemoteSettings, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch' | 'post'>

/** Like `createClient`, but a local file always has one connection, which is opened by the first statement. */
export function connect(settings: ClientSettings): Client {
  const path = localPath(settings.url)
  return path === undefined ? connectRemote(settings) : new FileClient(path)
}
