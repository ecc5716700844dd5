/**
 * `agent-grid serve` with a controllable clock and disk. The file `process.argv[2]` contains a `FaultySettings` as
 * JSON. The program needs no privileges or tools. `e2e/faults/faults.ts` instead injects faults of a real disk from
 * outside the process.
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
  /** How commits fail. With `fsync`, the commit fails after it is written to the file; otherwise, before. */
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
