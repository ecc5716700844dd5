/** Runners on two machines share the inbox of an agent; on one machine a second one is refused. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { GridClient } from '../../src/clients/grid-client.ts'
import type { LiveGrid } from '../../test/support/server.ts'
import { answersTo, startRunner } from './runner-process.ts'

const count = 60

/** Says who answers, after a tenth of a second. */
const child = `process.stdin.resume().on('end', () => setTimeout(() => console.log(process.argv[1]), 100))`

/** Returns what went wrong. */
export async function shareInbox(grid: LiveGrid, folder: string): Promise<string[]> {
  const worker = await grid.acme.agent('shared')
  const askers = await Promise.all(Array.from({ length: 6 }, (_, n) => grid.acme.agent(`sharing-${n}`)))
  const homes = ['first', 'second'].map((name) => join(folder, name))
  homes.forEach((home) => mkdirSync(home, { recursive: true }))
  const start = (home: string) =>
    startRunner({
      ...{ url: grid.url, key: worker.key, home },
      words: ['--max-turns-per-hour', '1000', '--', process.execPath, '-e', child, home],
    })
  const runners = homes.map(start)
  try {
    const sent = await Promise.all(askers.map(async (asker) => {
      const client = new GridClient({ url: grid.url, key: asker.key })
      const ids = []
      for (let n = 0; n < count / askers.length; n++) {
        ids.push((await client.send({ to: '@shared', message: `${n}` }, `shared-${n}`)).message_id)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return { client, ids }
    }))
    const answered = (await Promise.all(sent.map(({ client, ids }) => lastAnswers(client, ids)))).flat()
    const another = start(homes[0])
    const code = await new Promise((resolve) => another.child.once('exit', resolve))
    console.table(homes.map((home, n) => ({
      runner: n + 1,
      answers: answered.filter((answer) => answer === home).length,
      'a second one on its machine': n === 0 ? `exit code ${code}` : '',
    })))
    return [
      ...(code === 1 && another.output().includes('Another runner')
        ? []
        : ['A second runner on one machine was not refused.']),
      ...homes.filter((home) => !answered.includes(home)).map((home) => `${home} answered nothing.`),
    ]
  } finally {
    await Promise.all(runners.map((runner) => runner.kill('SIGKILL')))
  }
}

/** A thread that is answered at once has one answer, to its last message. */
async function lastAnswers(client: GridClient, ids: string[]): Promise<string[]> {
  return await answersTo(client, [ids.at(-1)!])
}
