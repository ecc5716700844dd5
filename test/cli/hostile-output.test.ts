/** The output of client commands for a hostile grid contains no terminal control sequences. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clientCommands, runClientLine } from '../../src/cli/client-commands.ts'
import { clientDoctor } from '../../src/cli/client-doctor.ts'
import type { ProcessCommand } from '../../src/cli/command.ts'
import { type Home, testHome } from '../support/home.ts'
import { waitFor } from '../support/wait-for.ts'

const evil = 'evil\u001b]0;owned\u0007\u001b[2J\u009b31m\r\u007f\u202e'
const key = `grid_agt_${'k'.repeat(49)}`

/** Commands whose output is read by the program that starts them, not by a person. */
const ofPrograms = ['channel', 'hook']
const commands = [...clientCommands, clientDoctor].filter(({ name }) => !ofPrograms.includes(name))

/** The arguments with which `linesOf` begins each of these commands. */
const beginnings: Record<string, string[]> = {
  connect: ['claude', '--yes'],
  disconnect: ['claude', '--yes'],
  send: ['@bob', '--message', 'hi'],
  watch: ['--once'],
  reserve: ['a'],
  reservations: ['**'],
  as: ['@ann', '--admin-key', 'k'],
}
const values: Record<string, string> = {
  limit: '5',
  for: '60s',
  lease: '60',
  'reply-to': 'm',
  scope: 'project',
  wake: 'start',
}

/** Answers every request with all fields of a grid's responses. Fields that are not validated are hostile. */
function answer(path: string, base: string): unknown {
  const message = { message_id: evil, user: evil, channel: evil, conversation_id: evil, timestamp: evil, message: evil }
  const lease = { lease_id: evil, expires_at: evil, remaining: 1, acked: evil, released: evil }
  const signIn = { resource: `${base}/mcp/v1/grid`, authorization_servers: [base] }
  const me = { agent: '@ann', account: evil, key: { name: evil, last4: evil }, grid: { version: evil, url: evil } }
  const sent = { message_id: evil, recipient: evil }
  if (path === '/readyz') return { status: 'ready', version: evil, checks: evil }
  if (path === '/api/v1/messages') return sent
  if (path.endsWith('/keys')) return { apiKey: key, alias: evil, isNew: true }
  const reservation = { name: evil, agent: evil, presence: evil, ends_at: evil, note: evil }
  if (path === '/api/v1/reservations') {
    return { reserved: [evil], released: [evil], ends_at: evil, reservations: [reservation] }
  }
  return { ...me, ...lease, ...signIn, clock: evil, unread: 1, messages: [message], has_more: false }
}

let server: Server
let url: string
let home: Home
const folder = process.cwd()
let respond: (path: string, response: ServerResponse) => void
beforeEach(async () => {
  home = testHome()
  // The working folder is the home folder, because `connect` and `read` write there.
  process.chdir(home.folder)
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, url)
    if (pathname !== '/api/agents/wake-stream') return respond(pathname, response)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`data: ${evil}\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  Object.assign(process.env, { AGENT_GRID_URL: url, AGENT_GRID_KEY: key })
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
  process.chdir(folder)
  home.remove()
})

const grids: Record<string, typeof respond> = {
  'that answers': (path, response) =>
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer(path, url))),
  'that refuses': (_, response) =>
    response.writeHead(401, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ error: { code: evil, message: evil }, status: 'not ready', version: evil })),
  'that is none': (_, response) => response.writeHead(404, { 'Content-Type': 'text/html' }).end(evil),
}

test.each(commands.flatMap(({ name }) => Object.keys(grids).map((grid) => [name, grid])))(
  'the output of %s for a grid %s has no control sequences',
  async (name, grid) => {
    respond = grids[grid]
    const command = commands.find((command) => command.name === name)!
    let isAnswered = false
    for (const words of linesOf(command)) {
      for (const line of [words, [...words, '--json']]) {
        const printed = await outputOf(['run', 'as'].includes(name) ? [...line, '--', 'false'] : line)

        expect([line, printed]).toEqual([line, expect.stringMatching(/^[^\p{Cc}\u202a-\u202e\u2066-\u2069]*$/u)])
        isAnswered ||= printed.includes('evil')
      }
    }
    const saysNothing = ['connect', 'disconnect', 'as'].includes(name) || (name === 'health' && grid !== 'that answers')
    if (grid === 'that answers' && !saysNothing) expect(isAnswered).toBe(true)
  },
)

/** Returns a command line without options, and one with each option. */
function linesOf({ name, options }: ProcessCommand): string[][] {
  const first = name === 'health' ? ['health', '--url', url] : [name, ...beginnings[name] ?? []]
  const others = Object.entries(options).filter(([option, { required }]) =>
    !required && !['as', 'url', 'client', 'message', 'service', 'once', 'yes'].includes(option) && name !== 'run'
  )
  return [
    first,
    ...others.map(([option, { flag, oneOf }]) => [
      ...first,
      `--${option}`,
      ...flag ? [] : [values[option] ?? oneOf?.[0] ?? 'x'],
    ]),
  ]
}

/** Returns everything that a command line prints, as one line. Stops a runner once it has printed `Turn 1`. */
async function outputOf(words: string[]): Promise<string> {
  let text = ''
  const { log, error } = console
  const write = process.stdout.write
  const handlers = process.listeners('SIGTERM')
  console.log = console.error = (line: string) => void (text += `${line} `)
  process.stdout.write = ((line: string, done: () => void) => {
    text += line
    done()
    return true
  }) as typeof write
  try {
    const ended = runClientLine(words)
    if (words[0] === 'run') {
      const isOver = ended.then(() => true)
      await waitFor('the runner', async () => text.includes('Turn 1') || await Promise.race([isOver, false]))
      for (const stop of process.listeners('SIGTERM')) if (!handlers.includes(stop)) stop('SIGTERM')
    }
    await ended
  } finally {
    Object.assign(console, { log, error })
    process.stdout.write = write
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      for (const handler of process.listeners(name)) if (!handlers.includes(handler)) process.off(name, handler)
    }
  }
  return text.replace(/[\n\t]/g, ' ')
}
