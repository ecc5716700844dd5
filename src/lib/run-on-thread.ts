/** Work that would hold the event loop for long, on a thread of its own. */
import process from 'node:process'
import { Worker } from 'node:worker_threads'

export interface ThreadJob {
  name: string
  input: unknown
}

export type ThreadAnswer = { result: unknown } | { error: { message: string; code?: string } }

/** The program of a thread is in the folder of sources, or next to the program that was built from them. */
const isSource = import.meta.url.endsWith('.ts')
const program = new URL(isSource ? '../thread.ts' : './thread.js', import.meta.url)
/** Node runs no thread from sources, as in tests and `npm run dev`. */
const hasThreads = !isSource || 'deno' in process.versions || 'bun' in process.versions

/** Resolves to the result of a job, which is the same as that of `work`, and fails with its error. */
export async function runOnThread<Input, Result>(
  name: string,
  work: (input: Input) => Promise<Result>,
  input: Input,
): Promise<Result> {
  if (!hasThreads) return await work(input)
  const worker = new Worker(program, { workerData: { name, input } satisfies ThreadJob })
  try {
    const answer = await new Promise<ThreadAnswer>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', (code) => reject(new Error(`The thread has ended with code ${code}`)))
    })
    if ('error' in answer) throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
    return answer.result as Result
  } finally {
    await worker.terminate()
  }
}
