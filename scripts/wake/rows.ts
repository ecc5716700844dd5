/** The trials with each client, one per table row. A trial resolves to its result in the table, or fails. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../test/support/wait-for.ts'
import { outputOf } from '../run-program.ts'
import { askIn } from './asks.ts'
import { type Lab, type LabSession, newPlace, openSession } from './lab.ts'
import { isNotified } from './scripted-model.ts'
import { listener, listens, logOf, type Place, waitersOf } from './wake-client.ts'

export interface Row {
  title: string
  /** The clients to which the row applies; by default all clients. */
  clients?: string[]
  run(lab: Lab): Promise<string>
}

const second = 1_000

/** Sends a message. Resolves when the model was notified and has ended its turn. */
async function wake(session: LabSession): Promise<string> {
  await isReady(session)
  const ms = await session.isNotified(await session.send())
  await session.isIdle()
  return `${ms} ms`
}

/** Resolves when the session's waiter listens to the grid. */
async function isReady({ place }: LabSession): Promise<void> {
  await listens(place)
}

/** Waits until the session's waiter has ended. Resolves to a text with the time since `from`. */
async function waiterEnds({ place }: LabSession, from: number): Promise<string> {
  await waitFor('the end of the waiter', () => waitersOf(place).length === 0)
  return `no process after ${((Date.now() - from) / second).toFixed(1)} s`
}

/** Suspends the session's processes for this many ms. */
async function asleep({ terminal, place }: LabSession, ms: number): Promise<void> {
  const pids = [terminal.pid, ...waitersOf(place)]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  for (const pid of pids) process.kill(pid, 'SIGCONT')
}

/** Counts how often the model was notified of unread messages. */
function tellings(session: LabSession): number {
  return session.asked().filter(isNotified).length
}

function expect(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what)
}

/** All rows of the table. */
export const rows: readonly Row[] = [
  {
    title: 'idle session: woken, reads, answers',
    async run(lab) {
      const session = await openSession(lab)
      const answers = await lab.grid.unread(lab.sender)
      const time = await wake(session)
      await waitFor('the answer', async () => await lab.grid.unread(lab.sender) > answers)
      return `asked after ${time}; answered; ${session.place.keys} keys to connect and to start, then none`
    },
  },
  {
    title: 'message before the first prompt: told with it, once',
    async run(lab) {
      const place = await newPlace(lab)
      await lab.grid.send(lab.sender, place.agent, 'early')
      const session = await openSession(lab, { place, prompted: false })
      if (lab.client.wakesUnprompted) await isReady(session)
      await session.say('good morning')
      await waitFor('the model', () => session.asked().length > 0)
      await session.isIdle()
      expect(isNotified(session.asked()[0]), 'the first request does not tell of it')
      expect(tellings(session) === 1, `told ${tellings(session)} times`)
      return 'told in the first request'
    },
  },
  {
    title: 'busy session: the turn goes on, and it is told',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      const before = session.asked().length
      await session.say('work twice')
      await waitFor('the work', () => session.asked().length > before)
      const at = await session.send()
      const ms = await session.isNotified(at)
      await session.isIdle()
      const told = session.asked().find((one) => one.at >= at && isNotified(one))!
      expect(tellings(session) === 1, `told ${tellings(session)} times`)
      return `${told.answers.length > 0 ? 'in the same turn' : 'in a turn of its own'}, after ${ms} ms`
    },
  },
  {
    title: 'a half-typed draft stays',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      session.terminal.type('half a sentence')
      await session.terminal.shows(/half a sentence/)
      const time = await wake(session)
      expect(/half a sentence/.test(session.terminal.screen()), 'the draft is gone')
      expect(!session.asked().some(({ news }) => news.includes('half a sentence')), 'the draft was sent')
      return `woken after ${time}`
    },
  },
  {
    title: '12 wakes in a row',
    async run(lab) {
      const session = await openSession(lab)
      const times: string[] = []
      for (let i = 0; i < 12; i++) times.push(await wake(session))
      expect(tellings(session) === 12, `told ${tellings(session)} times`)
      return `${times.length} of 12`
    },
  },
  {
    title: '3 prompts: one waiter',
    async run(lab) {
      const session = await openSession(lab)
      for (const text of ['one', 'two', 'three']) {
        const before = session.asked().length
        await session.say(text)
        await waitFor('the model', () => session.asked().length > before)
        await session.isIdle()
      }
      await isReady(session)
      const { pid, clientPid } = listener(session.place)!
      // opencode's waiter runs inside the client process.
      const count = waitersOf(session.place).length + (pid === clientPid ? 1 : 0)
      expect(count === 1, `${count} waiters`)
      return `1 waiter, woken after ${await wake(session)}`
    },
  },
  {
    title: 'a new session in the same terminal is woken',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      await session.say(lab.client.clear)
      await sleep(2 * second)
      if (!lab.client.wakesUnprompted) {
        const before = session.asked().length
        await session.say('hello again')
        await waitFor('the model', () => session.asked().length > before)
        await session.isIdle()
      }
      return `${lab.client.clear}: woken after ${await wake(session)}`
    },
  },
  {
    title: 'exit: the waiter ends',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      const from = Date.now()
      await session.say(lab.client.exit)
      await waitFor('the end', () => !session.terminal.isOpen())
      return await waiterEnds(session, from)
    },
  },
  {
    title: 'kill -9: the waiter ends',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      const from = Date.now()
      process.kill(listener(session.place)!.clientPid, 'SIGKILL')
      return await waiterEnds(session, from)
    },
  },
  {
    title: 'terminal closed: the waiter ends',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      const from = Date.now()
      session.terminal.close()
      return await waiterEnds(session, from)
    },
  },
  ...([
    ['grid restarted', ({ grid }) => grid.restart()],
    ['grid killed', ({ grid }) => grid.restart('SIGKILL')],
    ['grid hung for 75 s', ({ grid }) => grid.hang(75 * second)],
    ['laptop asleep for 75 s', (_, session) => asleep(session, 75 * second)],
  ] as [string, (lab: Lab, session: LabSession) => Promise<void>][]).map(([title, fail]): Row => ({
    title: `${title}: woken again`,
    async run(lab) {
      const session = await openSession(lab)
      // Until its first wake, the session may still be loading tools. Claude Code omits tools that need more than 2 s.
      await wake(session)
      await isReady(session)
      await fail(lab, session)
      const ms = await session.isNotified(await session.send())
      await session.isIdle()
      expect(await lab.grid.unread(session.place.agent) === 0, 'it did not read')
      return `told ${(ms / second).toFixed(1)} s after it`
    },
  })),
  {
    title: 'key revoked: the waiter ends and the next start says so',
    async run(lab) {
      const session = await openSession(lab)
      await isReady(session)
      lab.grid.newKey(session.place.agent)
      await waitFor('the end of waiting', () => listener(session.place) === undefined)
      expect(/credential|key|401/i.test(logOf(session.place)), 'the log does not say why')
      session.terminal.close()
      const next = await openSession(lab, { place: session.place, prompted: false })
      const before = next.asked().length
      await next.say('good morning')
      await waitFor('the model', () => next.asked().length > before)
      expect(/does not accept the key/.test(next.asked().at(-1)!.news), 'the next start does not say so')
      return 'said'
    },
  },
  {
    title: 'two sessions: the newest is woken',
    async run(lab) {
      const place = await newPlace(lab)
      const older = await openSession(lab, { place })
      await isReady(older)
      const { clientPid } = listener(place)!
      const newer = await openSession(lab, { place })
      await waitFor('the newer one', () => (listener(place)?.clientPid ?? clientPid) !== clientPid)
      const before = [older, newer].map(({ terminal }) => terminal.screen())
      const time = await wake(newer)
      await waitFor('the newer screen', () => newer.terminal.screen() !== before[1])
      expect(older.terminal.screen() === before[0], 'the older one was woken too')
      return `woken after ${time}`
    },
  },
  {
    title: 'hooks that nobody has approved: nothing runs',
    clients: ['codex'],
    async run(lab) {
      const place = await newPlace(lab)
      const session = await openSession(lab, { place, trust: 'none' })
      await lab.grid.send(lab.sender, place.agent, 'hello')
      await sleep(3 * second)
      expect(tellings(session) === 0 && waitersOf(place).length === 0, 'a hook ran')
      return 'not told, no waiter'
    },
  },
  {
    title: 'asks an agent that is away: the call waits 50 s',
    async run(lab) {
      // `unread` makes the agent present once, because a call does not wait for an agent that was never present.
      await lab.grid.unread(lab.sender)
      const { answers, seconds } = await askIn(1, lab, await openSession(lab), lab.sender.alias)
      expect(answers.includes('has not read it yet'), `the model was shown: ${answers}`)
      expect(seconds > 50, `the call waited for ${seconds} s`)
      return `the model was told so after ${seconds.toFixed(1)} s`
    },
  },
  {
    title: 'one prompt without a terminal: not told, no waiter, time',
    async run(lab) {
      const [withHooks, without] = [await newPlace(lab), await newPlace(lab, 'off')]
      await lab.grid.send(lab.sender, withHooks.agent, 'hello')
      const times: [number, number][] = []
      for (let i = 0; i < 7; i++) times.push([await oneShot(lab, withHooks), await oneShot(lab, without)])
      const [more, less] = [0, 1].map((at) => times.map((pair) => pair[at]).sort((a, b) => a - b)[3])
      const asked = lab.model.asked.filter(({ client }) => withHooks.model.endsWith(`/${client}`))
      expect(!asked.some(isNotified), 'it was told')
      expect(waitersOf(withHooks).length === 0, 'it has a waiter')
      return `${Math.round(more - less)} ms more than ${Math.round(less)} ms`
    },
  },
]

/** Runs one prompt until the client ends. Resolves to the duration in ms. */
async function oneShot({ client }: Lab, place: Place): Promise<number> {
  const from = performance.now()
  await outputOf(spawn(place.program, client.oneShot('good morning'), {
    cwd: place.project,
    env: client.env(place),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60 * second,
  }))
  return performance.now() - from
}
