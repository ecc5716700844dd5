/** A minimal broker that uses Bun and SQLite. */
import { join } from 'node:path'
import { runtimeBinary } from '../../runtime.ts'
import { startScript } from '../server.ts'
import { type Broker, openHttpQueue } from './broker.ts'

export const sqlite: Broker = {
  name: 'Bun and SQLite behind HTTP',
  pairDescription:
    'INSERT; UPDATE of the oldest row with RETURNING; one commit each, by Bun.serve and bun:sqlite in one process, without a key. It stands for small brokers on one machine, such as claude-peers; it is none of them',
  speaksHttp: true,
  find: () => runtimeBinary('bun'),
  async start(folder) {
    const env = { DATABASE_FILE: join(folder, 'queue.db') }
    const server = await startScript('bun', ['scripts/bench/brokers/sqlite-service.ts'], env, '/readyz')
    return {
      server,
      durability: 'SQLite in Bun, journal_mode WAL, synchronous FULL: fsynced before it is acknowledged',
      isFsynced: true,
      open: (queue) => Promise.resolve(openHttpQueue(server.port, { queue })),
    }
  },
}
