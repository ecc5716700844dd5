/** The program of a worker thread, which runs jobs one after another. See `lib/run-on-thread.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import { featureJobs } from './feature-jobs.ts'
import type { ThreadAnswer, ThreadJob, ThreadProgram } from './lib/run-on-thread.ts'

type Jobs = Record<string, (input: never) => Promise<unknown>>

/** A thread loads only the modules its jobs need. */
const programs: Record<ThreadProgram, () => Promise<Jobs>> = {
  backup: async () => {
    const { checkCopy, copyFile } = await import('./store/backup/local-copy.ts')
    const ofFeatures = Object.entries(featureJobs).map(([name, load]): [string, Jobs[string]] => [
      name,
      async (input) => await (await load())(input),
    ])
    return { checkCopy, copyFile, ...Object.fromEntries(ofFeatures) }
  },
  guardrails: async () => {
    const { LocalChecks } = await import('./guardrails/local-checks.ts')
    const checks = new LocalChecks()
    return { check: (input: never) => checks.check(input), prepare: (input: never) => checks.prepare(input) }
  },
}

const answer = (sent: ThreadAnswer) => parentPort!.postMessage(sent)
void programs[workerData as ThreadProgram]().then((jobs) => {
  parentPort!.on('message', ({ name, input }: ThreadJob) => {
    void jobs[name](input as never).then(
      (result) => answer({ result }),
      ({ message, code }) => answer({ error: { message, code } }),
    )
  })
  answer('ready')
})
