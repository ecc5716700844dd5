/** Measures how much a question to an agent in another client costs the model. See docs/conversations.md, "Asking". */
import { waitFor } from '../../test/support/wait-for.ts'
import { type Lab, type LabSession, openSession } from './lab.ts'
import { type Act, type Asked, readAndAnswer } from './scripted-model.ts'
import { listens } from './wake-client.ts'

/** The cost of one question for the asking agent's model. */
interface Cost {
  calls: number
  /** The size of the calls' arguments and answers. */
  bytes: number
  answers: string
  /** The number of requests to the model, and their total size. */
  turns: number
  read: number
  seconds: number
}

const waiting = { wait_seconds: 50 }

/** Asks a question: in two calls (send, then read) or in one call that also waits. Resolves when the turn has ended. */
export async function askIn(calls: 1 | 2, { model }: Lab, session: LabSession, to: string): Promise<Cost> {
  const question = { to, message: 'Is the build green?' }
  const plan: Act[] = [
    { tool: 'send_message', arguments: calls === 1 ? { ...question, ...waiting } : question },
    ...(calls === 1 ? [] : [{ tool: 'read_messages', arguments: waiting }]),
  ]
  const path = session.place.model.split('/').at(-1)
  const done: Act[] = []
  model.script = (asked) => {
    if (asked.client !== path) return readAndAnswer(asked)
    const act = plan[done.length]
    if (act) done.push(act)
    return act ?? { text: 'I have the answer.' }
  }
  const before = session.asked().length
  const from = performance.now()
  await session.say('ask')
  await waitFor('the calls', () => done.length === calls)
  await session.isIdle()
  const asked = session.asked().slice(before)
  const answers = asked.flatMap(({ answers }) => answers).join('\n')
  return {
    calls: done.length,
    bytes: Buffer.byteLength(done.map((act) => JSON.stringify('arguments' in act && act.arguments)).join('') + answers),
    answers,
    turns: asked.length,
    read: asked.reduce((sum: number, { bytes }: Asked) => sum + bytes, 0),
    seconds: (performance.now() - from) / 1_000,
  }
}

/** A session asks another client's session, first in two calls, then in one. Fails if the answer is not shown. */
export async function compareAsks(lab: Lab, other: Lab): Promise<string> {
  const [session, { place }] = [await openSession(lab), await openSession(other)]
  const costs: string[] = []
  // The first question does not count, because Claude Code searches for the tools during it.
  for (const calls of [2, 2, 1] as const) {
    await listens(place)
    const cost = await askIn(calls, lab, session, place.agent.alias)
    if (!cost.answers.includes('I have read it.')) throw new Error(`The model was shown: ${cost.answers}`)
    const { bytes, turns, read, seconds } = cost
    const called = `${cost.calls} ${cost.calls === 1 ? 'call' : 'calls'} of ${bytes} bytes`
    costs.push(`${called}, ${turns} requests to the model of ${read} bytes, ${seconds.toFixed(1)} s`)
  }
  return costs.slice(1).join('; ')
}
