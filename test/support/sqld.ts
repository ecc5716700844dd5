/** A real libsql-server for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLibsqlServer } from '../../scripts/cluster/libsql-server.ts'
import { freePort } from '../../src/lib/free-port.ts'

export interface Sqld {
  /** For `DATABASE_URL`. */
  url: string
  /** Ends the server and removes its data. */
  stop(): Promise<void>
}

/** Start an empty libsql-server that fsyncs each commit, on free ports. */
export async function startSqld(): Promise<Sqld> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-sqld-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const server = await startLibsqlServer({ folder, port: await freePort(), adminPort: await freePort() })
    .catch((error) => {
      remove()
      throw error
    })
  return {
    url: server.url,
    async stop() {
      server.signal('SIGKILL')
      await server.ended
      remove()
    },
  }
}
