/** `agent-grid serve` with a clock that is `process.argv[2]` ms ahead. */
import process from 'node:process'
import { readServerConfig } from '../../src/cli/server.ts'
import { processDeps } from '../../src/cli/process.ts'
import { startServer } from '../../src/cli/server.ts'

async function main(): Promise<void> {
  const aheadMs = Number(process.argv[2])
  const deps = processDeps(await readServerConfig(process.env))
  const { store } = await startServer({ ...deps, now: () => Date.now() + aheadMs })
  console.log(JSON.stringify({ url: store.deps.config.baseUrl }))
}

void main()
