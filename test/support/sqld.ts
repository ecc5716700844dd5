/** A libsql-server process for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLibsqlServer } from '../../scripts/cluster/libsql-server.ts'
import { freePort } from '../../src/lib/free-port.ts'

export interface Sqld {
  /** For `DATABASE_URL`. */
  url: string
  /** The URL of the admin API. */
  adminUrl: string
  /** Stops the server and deletes its data. */
  stop(): Promise<void>
}

/** Starts an empty libsql-server on free ports. It syncs each commit to disk, unless `isRelaxed` is set. */
export async function startSqld({ isRelaxed = false } = {}): Promise<Sqld> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-sqld-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const start = async () =>
    await startLibsqlServer({
      folder,
      port: await freePort(),
      adminPort: await freePort(),
      durability: isRelaxed ? 'unchanged' : 'strong',
    })
  // Try a second time, because another test may have taken the port.
  const server = await start().catch(start).catch((error) => {
    remove()
    throw error
  })
  return {
    url: server.url,
    adminUrl: server.adminUrl,
    async stop() {
      server.signal('SIGKILL')
      await server.ended
      remove()
    },
  }
}
