/**
 * `agent-grid serve` that kills itself with SIGKILL at a moment that no client can target. The moment is after the
 * commit of the first batch with a statement that matches `process.argv[2]`, and before any response. With `stop` as
 * the next argument, the server suspends itself instead.
 */
import type { InStatement } from '@libsql/client'
import process from 'node:process'
import { readServerConfig } from '../../src/cli/server.ts'
import { processDeps } from '../../src/cli/process.ts'
import { startServer } from '../../src/cli/server.ts'
import { connect } from '../../src/store/driver/remote-client.ts'

const fatal = new RegExp(process.argv[2])
const signal = process.argv[3] === 'stop' ? 'SIGSTOP' : 'SIGKILL'

async function main(): Promise<void> {
  const { store } = await startServer(processDeps(await readServerConfig(process.env)), {
    connect(settings) {
      const client = connect(settings)
      const batch = client.batch.bind(client)
      client.batch = async (statements, mode) => {
        const results = await batch(statements, mode)
        const isFatal = statements.some((statement) => fatal.test((statement as InStatement & { sql: string }).sql))
        if (isFatal) process.kill(process.pid, signal)
        return results
      }
      return client
    },
  })
  console.log(JSON.stringify({ url: store.deps.config.baseUrl }))
}

void main()
