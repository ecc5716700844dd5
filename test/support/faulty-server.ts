/**
 * `agent-grid serve` whose clock and disk are controlled by a file, `process.argv[2]`, which contains a
 * `FaultySettings` as JSON. It needs no privileges and no tools. Faults of a real disk are injected around the process
 * (`e2e/faults/faults.ts`).
 */
import { LibsqlError } from '@libsql/client'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { readServerConfig } from '../../src/cli/server.ts'
import { aborted, exitOnUncaughtError, processDeps, shutdownSignal } from '../../src/cli/process.ts'
import { startServer, stopServer } from '../../src/cli/server.ts'
import { connect } from '../../src/store/driver/remote-client.ts'

export interface FaultySettings {
  /** Offset added to the clock, in milliseconds. */
  clockMs?: number
  /** How a commit fails: with `fsync` after it has been written to the file, with the others before. */
  fails?: 'fsync' | 'write' | 'full'
}

function settings(): FaultySettings {
  return JSON.parse(readFileSync(process.argv[2], 'utf8'))
}

const errors = {
  fsync: () => new LibsqlError('disk I/O error', 'SQLITE_IOERR', 'SQLITE_IOERR_FSYNC', 1034),
  write: () => new LibsqlError('disk I/O error', 'SQLITE_IOERR', 'SQLITE_IOERR_WRITE', 778),
  full: () => new LibsqlError('database or disk is full', 'SQLITE_FULL', 'SQLITE_FULL', 13),
}

async function main(): Promise<void> {
  const stopping = shutdownSignal()
  const deps = processDeps(await readServerConfig(process.env), { stopping })
  exitOnUncaughtError(deps.log)
  const server = await startServer({ ...deps, now: () => Date.now() + (settings().clockMs ?? 0) }, {
    connect(options) {
      const client = connect(options)
      const batch = client.batch.bind(client)
      client.batch = async (statements, mode) => {
        const { fails } = settings()
        if (fails === undefined) return await batch(statements, mode)
        if (fails === 'fsync') await batch(statements, mode)
        throw errors[fails]()
      }
      return client
    },
  })
  console.log(JSON.stringify({ url: deps.config.baseUrl }))
  await aborted(stopping)
  await stopServer(server)
  process.exit()
}

void main()
