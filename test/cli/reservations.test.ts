/** The commands reserve and reservations. See docs/protocol/reservations.md, "On the command line". */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { runClientLine } from '../../src/cli/client-commands.ts'
import { holding } from '../../src/cli/reservations.ts'
import { GridClient } from '../../src/clients/grid-client.ts'
import { minute } from '../../src/lib/time.ts'
import { startWorker } from '../../src/worker/worker.ts'
import type { TestAgent } from '../support/grid.ts'
import { type Home, testHome } from '../support/home.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

vi.setConfig({ testTimeout: 60_000 })

let grid: LiveGrid
let home: Home
const folder = process.cwd()
const space = 'github.com/acme/app'
beforeEach(async () => {
  grid = await liveGrid({ env: { CALLS_PER_SECOND: '0' } })
  home = testHome()
  home.write('app/.git/config', `[remote "origin"]\n\turl = git@${space.replace('/', ':')}.git\n`)
  home.write('app/src/auth/token.ts', '')
  process.chdir(join(home.folder, 'app/src'))
})
afterEach(async () => {
  process.chdir(folder)
  home.remove()
  await grid.close()
})

const clientOf = ({ key }: TestAgent) => new GridClient({ url: grid.url, key })
const names = async (agent = grid.bob) => (await clientOf(agent).reservations()).map(({ name }) => name)

/** Runs a command line in this process, in a repository's folder `src`. */
async function run(agent: TestAgent | undefined, ...words: string[]) {
  const access = agent ? { AGENT_GRID_URL: grid.url, AGENT_GRID_KEY: agent.key } : {}
  const before = { ...process.env }
  Object.assign(process.env, access)
  const [out, err]: string[][] = [[], []]
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((text) => void out.push(text)),
    vi.spyOn(console, 'error').mockImplementation((text) => void err.push(text)),
  ]
  try {
    return { code: await runClientLine(words), out: out.join('\n'), err: err.join('\n') }
  } finally {
    spies.forEach((spy) => spy.mockRestore())
    for (const name of ['AGENT_GRID_URL', 'AGENT_GRID_KEY']) if (before[name] === undefined) delete process.env[name]
  }
}

test('reserve names files by their path in the repository, and exits with 3 if another agent has reserved one', async () => {
  const reserved = await run(grid.bob, 'reserve', 'auth', '../*.md', 'PROJ-12', '--note', 'tokens', '--for', '10m')
  const refused = await run(grid.alice, 'reserve', 'auth/token.ts', '--json')
  const listed = await run(grid.alice, 'reservations', 'auth/token.ts')
  const released = await run(grid.bob, 'reserve', '--release', 'auth')
  const other = await run(grid.alice, 'reserve', 'auth/token.ts', '--space', 'git@github.com:acme/app.git', '--json')

  const until = new Date(grid.clock.now + 10 * minute).toISOString()
  expect(reserved).toEqual({ code: 0, err: '', out: `Reserved src/auth/**, *.md, PROJ-12 in ${space} until ${until}.` })
  expect(refused.code).toBe(3)
  expect(JSON.parse(refused.out).error).toMatchObject({
    code: 'already_reserved',
    message: expect.stringMatching(/^@bob \(.*\) has src\/auth\/\*\* until .*note: "tokens"/),
  })
  expect(listed.out).toMatch(/^@bob \(.*\) has src\/auth\/\*\* in github.com\/acme\/app until [^\n]*, note: "tokens"$/)
  expect(released).toEqual({ code: 0, err: '', out: 'Released src/auth/**.' })
  // With --space, names are not resolved in the repository.
  expect(JSON.parse(other.out)).toMatchObject({ reserved: ['auth/token.ts'], space })
  expect(JSON.parse((await run(grid.bob, 'reservations', '--mine', '--json')).out).reservations).toMatchObject([
    { name: '*.md', space },
    { name: 'PROJ-12', space },
  ])
})

test('reservations --check fails only for files that other agents have reserved', async () => {
  const bob = clientOf(grid.bob)
  await bob.reserve({ names: ['src/auth/**'], space, note: 'new tokens' })
  await bob.reserve({ names: ['notes/*'], space, shared: true })
  await bob.reserve({ names: ['src/mine.ts'], space: 'github.com/acme/site' })
  await bob.reserve({ names: ['src/mine.ts'] })
  await clientOf(grid.alice).reserve({ names: ['src/mine.ts'], space })
  const check = (...files: string[]) => run(grid.alice, 'reservations', '--check', '--strict', '--', ...files)

  const found = await check('auth/token.ts', 'mine.ts', '-x.ts', '../notes/a.md')
  expect(found.code).toBe(1)
  expect(found.out.split('\n')).toEqual([
    expect.stringMatching(/^src\/auth\/token.ts: @bob \(.*\) has src\/auth\/\*\* until .*, note: "new tokens"$/),
    expect.stringMatching(/^notes\/a.md: @bob \(.*\) has notes\/\* until .*, shared$/),
  ])
  await clientOf(grid.alice).reserve({ names: ['notes/a.md'], space, shared: true })
  expect(await check('mine.ts', '../notes/a.md')).toEqual({ code: 0, out: '', err: '' })
  expect(await check()).toEqual({ code: 0, out: '', err: '' })
  // Outside a repository there is no space, so the file matches no reservation.
  process.chdir(home.folder)
  expect(await check('src/auth/token.ts')).toEqual({ code: 0, out: '', err: '' })
})

test('if the grid is unreachable or slow, reservations --check says so, and fails only with --strict', async () => {
  const mute = createServer(() => {})
  await once(mute.listen(0, '127.0.0.1'), 'listening')
  const at = (url: string) => ({ AGENT_GRID_URL: url, AGENT_GRID_KEY: grid.bob.key })
  const check = async (env: Record<string, string>, ...more: string[]) => {
    Object.assign(process.env, env)
    const { code, out, err } = await run(undefined, 'reservations', '--check', 'a.ts', ...more)
    for (const name of Object.keys(env)) delete process.env[name]
    expect([out, err]).toEqual(['', expect.stringMatching(/^Reservations were not checked: [^\n]+$/)])
    return code
  }

  for (const env of [{}, at('http://127.0.0.1:9'), { ...at(grid.url), AGENT_GRID_KEY: 'wrong' }]) {
    expect([await check(env), await check(env, '--strict')]).toEqual([0, 2])
  }
  const begun = performance.now()
  expect(await check(at(`http://127.0.0.1:${(mute.address() as AddressInfo).port}`))).toBe(0)
  expect(performance.now() - begun).toBeLessThan(3_000)
  mute.closeAllConnections()
  mute.close()
})

test('reserve --wait reserves as soon as the names are free', async () => {
  const worker = await startWorker(grid.store)
  const bob = clientOf(grid.bob)
  await bob.reserve({ names: ['src/a'], space })
  const waiting = run(grid.alice, 'reserve', './a', '--wait')
  await waitFor('the wait', () => grid.store.waiting.notifier.hasSubscribers)
  await bob.releaseNames({ space })

  expect((await waiting).out).toMatch(/^Reserved src\/a in /)
  await worker.stop()
})

test('a reservation is renewed during the work, and released even if the work fails', async () => {
  const client = clientOf(grid.bob)
  const request = { names: ['a'], expires_in_seconds: 60 }
  const { ends_at } = await client.reserve(request)
  grid.clock.now += minute / 2
  const work = async () => {
    await waitFor('the renewal', async () => (await client.reservations())[0].ends_at > ends_at)
    throw new Error('It failed.')
  }

  await expect(holding(client, request, work, 10)).rejects.toThrow('It failed.')
  expect(await names()).toEqual([])
})

test("reserve holds names while a command runs, forwards signals and input, and returns the command's exit code", async () => {
  const [file, ...args] = [...runtimeCommand('node'), resolve(folder, 'src/client.ts')]
  const script = 'trap "echo stopped; exit 9" TERM; cat; while :; do sleep 0.02; done'
  const child = spawn(file, [...args, 'reserve', 'a.ts', '--', 'sh', '-c', script], {
    env: { ...home.env, AGENT_GRID_URL: grid.url, AGENT_GRID_KEY: grid.bob.key },
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => out += text)
  child.stdin.end('input\n')
  await waitFor('the command', () => out === 'input\n')
  const during = await names()
  child.kill('SIGTERM')
  const [code] = await once(child, 'close')

  expect({ code, out, during, after: await names() }).toEqual({
    code: 9,
    out: 'input\nstopped\n',
    during: ['src/a.ts'],
    after: [],
  })
})

test.each([
  [['reserve'], 'reserve needs NAME.'],
  [['reserve', 'a', '--for', '8d'], '--for must be a duration'],
])('the command line %j has the exit code 2', async (words, text) => {
  expect(await run(grid.bob, ...words)).toMatchObject({ code: 2, err: expect.stringContaining(text) })
})
