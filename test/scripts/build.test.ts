/** How `npm start` builds a program into one file and runs it, in a temporary checkout. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { build } from '../../scripts/build.js'
import { freePort } from '../../src/lib/free-port.ts'
import { waitFor } from '../support/wait-for.ts'

const main = 'src/main.ts'

let folder: string
let built: string
/** Process groups that a test has started and not yet stopped. */
const groups = new Set<number>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-grid-build-'))
  built = join(folder, 'dist/src/main.js')
  for (const path of ['package.json', 'scripts/build.js', 'scripts/launch.js', 'scripts/node.js']) {
    cpSync(path, join(folder, path))
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
})
afterEach(() => {
  for (const group of groups) process.kill(-group, 'SIGKILL')
  groups.clear()
  rmSync(folder, { recursive: true, force: true })
})

test('a program is built into one file, which gets its arguments', async () => {
  write('src/word.ts', "export const word: string = 'hello'\n")
  write(main, "import { word } from './word.ts'\nconsole.log(word, process.argv.slice(2))\n")

  expect(await run('to', 'you')).toEqual({ code: 0, stdout: "hello [ 'to', 'you' ]\n", stderr: '' })
  expect(readdirSync(join(folder, 'dist/src')).filter((name) => name.endsWith('.cjs'))).toHaveLength(1)
})

test('a build without the development packages says what is missing', async () => {
  write(main, "console.log('hello')\n")
  rmSync(join(folder, 'node_modules'))
  const { code, stdout, stderr } = await run()
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^esbuild is missing, .* Run "npm ci"\. [^\n]*\n$/)
})

test('a program is rebuilt only if one of its sources has changed', async () => {
  write('src/word.ts', "export const word = 'before'\n")
  write(main, "import { word } from './word.ts'\nconsole.log(word)\n")
  await run()
  const { ino } = statSync(built)

  expect((await run()).stdout).toBe('before\n')
  expect(statSync(built).ino).toBe(ino)
  write('src/word.ts', "export const word = 'after'\n")
  expect((await run()).stdout).toBe('after\n')
  write('package.json', '{"type":"module","version":"2"}')
  const { ino: after } = statSync(built)
  await run()
  expect(statSync(built).ino).not.toBe(after)
})

test.each([/^main\.js$/, /\.cjs$/])('a truncated file of a built program is rebuilt: %s', async (name) => {
  write(main, "console.log('whole')\n")
  await run()
  truncateSync(onlyFile(name), 10)

  expect(await run()).toEqual({ code: 0, stdout: 'whole\n', stderr: '' })
})

test('two concurrent "npm start" both build the program, serve their own database, and stop on SIGTERM', async () => {
  for (const path of ['src', 'db']) cpSync(path, join(folder, path), { recursive: true })
  const started = await Promise.all(['one', 'two'].map(npmStart))

  const answers = await Promise.all(started.map(({ url }) => ready(url)))
  const files = readdirSync(join(folder, 'dist/src'))
  const logs = await Promise.all(started.map(({ stop }) => stop()))

  expect(answers).toEqual([200, 200])
  expect(files.filter((name) => !name.endsWith('.cache'))).toEqual([
    'agent-grid.tgz',
    ...['client', 'main'].flatMap(filesOf),
    'opencode-plugin.js',
    ...filesOf('thread'),
  ])
  for (const log of logs) expect(log).toContain('"message":"Stopped"')
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['one.db', 'two.db']))
})

test('the built grid loads only native packages, which "npm ci --omit=dev" installs', async () => {
  const file = await build(main)
  const text = readFileSync(builtFile(dirname(file), /^main-.*\.cjs$/), 'utf8')
  const loaded = [...text.matchAll(/\b(?:require|import)\("([^"]+)"\)/g)].map(([, name]) => name)
  // If the build did not omit ajv, it would be listed too, because its generated code would be text in the program.
  const packages = loaded.filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))

  // The last two packages provide faster WebSockets, and are loaded only if somebody installs them.
  const loadable = ['libsql', '@node-rs/argon2', 'bufferutil', 'utf-8-validate']
  expect([...new Set(packages)].sort()).toEqual(loadable.sort())
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
  for (const name of ['libsql', '@node-rs/argon2']) {
    expect(lock[`node_modules/${name}`].dev).not.toBe(true)
  }
})

function builtFile(folder: string, name: RegExp): string {
  const found = readdirSync(folder).filter((other) => name.test(other))
  expect(found).toHaveLength(1)
  return join(folder, found[0])
}

function onlyFile(name: RegExp): string {
  return builtFile(join(folder, 'dist/src'), name)
}

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true })
  writeFileSync(join(folder, path), text)
}

async function run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  // Runs from another folder, as a service manager may do.
  const child = spawn(process.execPath, [join(folder, 'scripts/node.js'), main, ...words], { cwd: tmpdir() })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => stdout += text)
  child.stderr.setEncoding('utf8').on('data', (text) => stderr += text)
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

/** Runs `npm start`. `stop()` sends SIGTERM to npm and its child processes, and resolves to their log. */
async function npmStart(name: string): Promise<{ url: string; stop(): Promise<string> }> {
  const port = await freePort()
  const env = { LOG_LEVEL: 'info', PORT: `${port}`, DATABASE_URL: `file:${name}.db` }
  const npm = spawn('npm', ['start'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  groups.add(npm.pid!)
  let log = ''
  npm.stderr.setEncoding('utf8').on('data', (text) => log += text)
  const closed = once(npm, 'close').finally(() => groups.delete(npm.pid!))
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      process.kill(-npm.pid!, 'SIGTERM')
      await closed
      return log
    },
  }
}

/** Resolves to the status of `/readyz` as soon as the server responds. */
function ready(url: string): Promise<number> {
  return waitFor(`an answer of ${url}`, () => fetch(`${url}/readyz`).then(({ status }) => status, () => undefined))
}

/** Returns matchers for the files of a built program. */
function filesOf(name: string) {
  return [
    expect.stringMatching(`^${name}-[0-9a-f]{16}\\.cjs$`),
    expect.stringMatching(`^${name}-[0-9a-f]{16}\\.cjs\\.map$`),
    `${name}.js`,
    `${name}.third-party.txt`,
  ]
}
