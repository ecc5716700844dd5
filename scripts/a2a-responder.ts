/**
 * `npm run lab -- a2a-responder`: an agent on a grid that behaves as the official A2A suites require. The suites can
 * then test the agent's endpoint.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { second } from '../src/lib/time.ts'
import { startResponder } from '../test/support/responder.ts'

const usage = `npm run lab -- a2a-responder --url URL --key AGENT_KEY [--resubscribe SECONDS] [--ask-back]

  --url          address of the grid
  --key          key of the agent that answers, made with:
                 agent-grid create-agent --message-replies --callers-wait yes …
  --resubscribe  how long the task takes to which a suite subscribes: twice its limit for streams; 30 by default
  --ask-back     messages that no suite names are asked back once, so that their tasks stay open`

const { values: { url, key, resubscribe = '30', 'ask-back': asksBack } } = parseArgs({
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    resubscribe: { type: 'string' },
    'ask-back': { type: 'boolean' },
  },
})
if (url === undefined || key === undefined) {
  console.log(usage)
  process.exitCode = 1
} else {
  const resubscribeMs = Number(resubscribe) * second
  const responder = await startResponder({ url, key, resubscribeMs, asksBack, onFault: console.error })
  console.log('Answering until Ctrl+C')
  process.once('SIGINT', () => {
    void responder.stop().then(() => process.exit(responder.faults.length > 0 ? 1 : 0))
  })
}
