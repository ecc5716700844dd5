/** `agent-grid serve` whose database thread is ended after SIGUSR2, with the next unit that it is asked to commit. */
import process from 'node:process'
import { Worker } from 'node:worker_threads'
import { exitOnUncaughtError, processDeps, readServerConfig } from '../../src/cli/process.ts'
import { startServer } from '../../src/cli/server.ts'

let isEnding = false
process.on('SIGUSR2', () => isEnding = true)

const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (this: Worker, requests: [kind: string][]) {
  post.call(this, requests)
  if (isEnding && requests.some(([kind]) => kind === 'batch')) void this.terminate()
}

async function main(): Promise<void> {
  const deps = processDeps(await readServerConfig(process.env))
  exitOnUncaughtError(deps.log)
  await startServer(deps)
  console.log(JSON.stringify({ url: deps.config.baseUrl }))
}

void main()
