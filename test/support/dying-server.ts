/**
 * `agent-grid serve` that ends itself as kill -9 does, at a moment that no client can hit: after the commit of the
 * first batch with a statement like `process.argv[2]`, before anybody is answered. With `stop` as the next argument
 * it is suspended there instead.
 */
import type { InStatement } from '@libsql/client'
import process from 'node:process'
import { processDeps, serverConfig } from '../../src/cli/process.ts'
import { startServer } from '../../src/cli/server.ts'
import { connect } from '../../src/store/driver/local-client.ts'

const fatal = new RegExp(process.argv[2], 'i')
const signal = process.argv[3] === 'stop' ? 'SIGSTOP' : 'SIGKILL'

const config = await serverConfig(process.env)
const { store } = await startServer(processDeps(config), {
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
