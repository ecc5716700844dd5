/** Lets two agents in two clients converse through the grid. */
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../test/support/wait-for.ts'
import { type Lab, openSession } from './lab.ts'
import { type Act, type Asked, isNotified } from './scripted-model.ts'
import { listens } from './wake-client.ts'

/**
 * Holds a conversation of this many turns, in which each agent answers a number with the next one. Prints the
 * transcript. Fails if the conversation stops.
 */
export async function converse(first: Lab, second: Lab, turns: number): Promise<string> {
  const { grid, model } = first
  const transcript: string[] = []
  model.script = (asked) => answer(asked, turns, transcript)
  const [ann, bob] = [await openSession(first), await openSession(second)]
  await listens(ann.place)
  await listens(bob.place)
  await grid.send(bob.place.agent, ann.place.agent, 'turn 0')
  const from = Date.now()
  for (let turn = 1; turn <= turns; turn++) {
    await waitFor(`turn ${turn}`, () => transcript.length >= turn)
  }
  console.log(transcript.join('\n'))
  const seconds = Math.round((Date.now() - from) / 1_000)
  return `${transcript.length} turns in ${seconds} s; ${ann.place.keys} and ${bob.place.keys} keys before, none then`
}

/** Answers a number with the next one. */
function answer(asked: Asked, turns: number, transcript: string[]): Act {
  if (isNotified(asked)) return { tool: 'read_messages', arguments: {} }
  const read = asked.answers.join('\n')
  const turn = Number(read.match(/"message":"turn (\d+)"/)?.[1])
  const to = read.match(/"message":"turn \d+","reply_to":"(@[\w-]+)"/)?.[1]
  if (to === undefined || turn >= turns) return { text: 'All right.' }
  transcript.push(`${asked.client} to ${to}: turn ${turn + 1}`)
  return { tool: 'send_message', arguments: { to, message: `turn ${turn + 1}` } }
}

/** Delay after a turn, during which clients still run hooks, and opencode gives the session a title. */
const settleMs = 700

/** Sends this many messages to one session, each when the session is idle. Resolves to percentiles of the delay. */
export async function measure(lab: Lab, messages: number): Promise<string> {
  const session = await openSession(lab)
  const times: number[] = []
  for (let i = 0; i < messages; i++) {
    await listens(session.place)
    await lab.grid.isAttended(session.place.agent)
    await sleep(settleMs)
    times.push(await session.isNotified(await session.send(`message ${i}`)))
    await session.isIdle()
  }
  times.sort((a, b) => a - b)
  const percentile = (share: number) => times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)]
  return `send to model asked: p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms, max ${times.at(-1)} ms`
}
