/**
 * `npm run a2a-responder`: an agent of a grid that does what the official suites of A2A ask for, so that they can be
 * pointed at its endpoint.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { second } from '../src/lib/time.ts'
import { startResponder } from '../test/support/responder.ts'

const usage = `npm run a2a-responder -- --url URL --key AGENT_KEY [--resubscribe SECONDS]

  --url          address of the grid, which should run with A2A_BLOCKING_STRICT=1
  --key          key of the agent that answers, which should be set to reply over A2A as a message
  --resubscribe  how long the task takes to which a suite subscribes: twice its limit for streams; 30 by default`

const { values: { url, key, resubscribe = '30' } } = parseArgs({
  options: { url: { type: 'string' }, key: { type: 'string' }, resubscribe: { type: 'string' } },
})
if (url === undefined || key === undefined) {
  console.log(usage)
  process.exitCode = 1
} else {
  const responder = await startResponder({ url, key, resubscribeMs: Number(resubscribe) * second })
  console.log('Answering until Ctrl+C')
  process.once('SIGINT', () => {
    for (const fault of responder.faults) console.error(fault)
    void responder.stop().then(() => process.exit(responder.faults.length > 0 ? 1 : 0))
  })
}
