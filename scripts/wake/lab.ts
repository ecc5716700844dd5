/** The setup of a table row: a grid, a model, a client, and sessions in terminals. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../test/support/wait-for.ts'
import type { LabAgent, LabGrid } from './lab-grid.ts'
import { type Asked, isNotified, type ScriptedModel } from './scripted-model.ts'
import { connect, openTerminal, type Place, type Terminal, type WakeClient } from './wake-client.ts'

export interface Lab {
  folder: string
  grid: LabGrid
  model: ScriptedModel
  client: WakeClient
  /** The path of the coding client's program. */
  program: string
  /** The path of agent-grid's built client program. */
  clientProgram: string
  /** The agent that sends the messages. */
  sender: LabAgent
}

/** A session that a person attends. */
export interface LabSession {
  place: Place
  terminal: Terminal
  /** Types a line and sends it. */
  say(text: string): Promise<void>
  /** The requests to the session's model, in order. */
  asked(): Asked[]
  /** Sends a message to the session's agent. Resolves to the time at which it was sent. */
  send(message?: string): Promise<number>
  /** Resolves when the model is notified of unread messages, to the time since `at` in ms. */
  isNotified(at: number): Promise<number>
  /** Resolves when the model has ended its turn. */
  isIdle(): Promise<void>
}

let count = 0

/** Creates a home folder with the client connected as a new agent. */
export async function newPlace(
  { folder, grid, model, client, program, clientProgram }: Lab,
  wake: 'auto' | 'off' = 'auto',
): Promise<Place> {
  const name = `${client.name}-${++count}`
  const home = join(folder, name)
  const place = { home, project: join(home, 'project'), program, grid: grid.url, model: model.url(name), keys: 0 }
  mkdirSync(place.project, { recursive: true })
  const whole = { ...place, agent: grid.createAgent(name) }
  client.configure(whole)
  await connect(client, whole, clientProgram, wake)
  return whole
}

/** Opens a session. Sends its first prompt if the client must be prompted before it can be woken. */
export async function openSession(
  lab: Lab,
  { place: known, trust = 'all', prompted = true }: {
    place?: Place
    trust?: 'all' | 'none'
    prompted?: boolean
  } = {},
): Promise<LabSession> {
  const { client, grid, model, sender } = lab
  const place = known ?? await newPlace(lab)
  const path = place.model.split('/').at(-1)!
  const env = client.env(place)
  const terminal = openTerminal(`t${++count}`, [place.program, ...client.words ?? []], { cwd: place.project, env })
  await client.open(terminal, trust, place)
  place.keys += terminal.keys()
  const asked = () => model.asked.filter(({ client }) => client === path)
  const session: LabSession = {
    place,
    terminal,
    async say(text) {
      terminal.type(text)
      // If the line end follows immediately, the terminal treats it as part of a paste.
      await sleep(700)
      terminal.press('Enter')
    },
    asked,
    send: (message = 'hello') => grid.send(sender, place.agent, message),
    async isNotified(at) {
      const found = await waitFor('the model', () => asked().find((one) => one.at >= at && isNotified(one)))
      return found.at - at
    },
    async isIdle() {
      await waitFor('the end of the turn', () => !model.isBusy(path))
    },
  }
  if (prompted && !client.wakesUnprompted) {
    await session.say('hello')
    await waitFor('the first answer', () => asked().length > 0)
    await session.isIdle()
  }
  return session
}
