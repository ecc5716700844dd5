/** An agent in one client asks an agent in another, and what that costs its model. See docs/conversations.md, "Asking". */
import { waitFor } from '../../test/support/wait-for.ts'
import { type Lab, type LabSession, openSession } from './lab.ts'
import { type Act, type Asked, readAndAnswer } from './scripted-model.ts'
import { listens } from './wake-client.ts'

/** What one question costs, as the model of the asker sees it. */
interface Cost {
  calls: number
  /** The arguments of the calls, and their answers. */
  bytes: number
  /** What the calls answered. */
  answers: string
  /** How often the model was asked, and the length of these requests. */
  turns: number
  read: number
  seconds: number
}

const waiting = { wait_seconds: 50 }

/** Ask in two calls, which send and read, or in one, which also waits for the answer. Resolves when the turn has ended. */
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

/** A session asks one of another client in two calls, and then in one. Fails if it is not shown the answer. */
export async function compareAsks(lab: Lab, other: Lab): Promise<string> {
  const [session, { place }] = [await openSession(lab), await openSession(other)]
  const costs: string[] = []
  // The first time is not counted: Claude Code then looks for the tools.
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
