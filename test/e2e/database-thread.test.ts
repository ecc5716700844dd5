import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { build } from '../../scripts/build.js'
import { runtimes, startProgram, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { faults, Ledger, noFaults, readAll, sendUntilGone } from './load.ts'

test.each(runtimes)('a lost thread on %s ends the process with code 70, and nothing is lost', async (runtime) => {
  const database = temporaryDatabase()
  const env = { DATABASE_URL: database.url, DATABASE_THREAD: 'on' }
  const { agents: [reader, ...senders] } = await seedAgents(database.url, ['reader', 'ada', 'ben', 'cora', 'dan'])
  const server = await startProgram('test/support/lost-thread-server.ts', [], env, runtime)
  const ledger = new Ledger()

  const load = sendUntilGone(server.url, [...senders, ...senders], reader.alias, ledger)
  await waitFor('20 acknowledged messages', () => ledger.acknowledged.size >= 20)
  server.signal('SIGUSR2')
  const [ended] = await Promise.all([server.ended, load.done])

  const next = await startServe('bun', env)
  const times = await readAll(next.url, reader)
  await next.stop()
  database.remove()
  expect(ended.code).toBe(70)
  expect(ended.stderr).toContain('"message":"The database thread has ended"')
  expect(faults(ledger, times)).toEqual(noFaults)
})

test('a server whose thread cannot start serves without it, and says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-no-thread-'))
  mkdirSync(join(folder, 'dist'))
  copyFileSync('package.json', join(folder, 'package.json'))
  const dist = dirname(await build('src/main.ts'))
  for (const name of readdirSync(dist)) {
    if (/^main\b/.test(name)) copyFileSync(join(dist, name), join(folder, 'dist', name))
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))

  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', DATABASE_THREAD: 'on' },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => output += text)
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const found = () => output.match(/running at (http:\S+)/)?.[1]
  await waitFor('the address or the end', () => found() !== undefined || child.exitCode !== null)
  const url = found()
  const ready = await fetch(`${url}/readyz`)
  child.kill('SIGTERM')

  expect(await ready.json()).toMatchObject({ status: 'ready', durability: 'full' })
  expect(await ended).toBe(0)
  expect(output).toContain('The database thread could not start; statements run on the main thread')
  rmSync(folder, { recursive: true })
})
