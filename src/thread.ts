/** The program of a thread: it does one job, and answers. See `lib/run-on-thread.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadAnswer, ThreadJob } from './lib/run-on-thread.ts'
import { checkCopy, copyFile } from './store/backup/local-copy.ts'

const jobs: Record<string, (input: never) => Promise<unknown>> = { checkCopy, copyFile }

const { name, input } = workerData as ThreadJob
const answer = (sent: ThreadAnswer) => parentPort!.postMessage(sent)
void jobs[name](input as never).then(
  (result) => answer({ result }),
  ({ message, code }) => answer({ error: { message, code } }),
)
