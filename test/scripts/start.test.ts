/** How the grid starts from its sources on each runtime, and how it stops. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { databaseFolder, otherRuntimeCommand } from '../../scripts/other-runtime.js'
import { runtimeBinary, runtimeCommand, runtimes } from '../../scripts/runtime.ts'
import { localPath } from '../../src/store/driver/local-file.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/process.ts'

let database: TemporaryDatabase
/** Process groups that a test has started and not yet stopped. */
const groups = new Set<number>()
beforeEach(() => {
  database = temporaryDatabase()
})
afterEach(() => {
  for (const group of groups) process.kill(-group, 'SIGKILL')
  groups.clear()
  database.remove()
})

const otherRuntime = (name: string) => ['node', 'scripts/other-runtime.js', name, 'src/main.ts', 'serve']
const commands = { node: ['npm', 'start'], deno: otherRuntime('deno'), bun: otherRuntime('bun') }

test.each(runtimes)(
  'on %s the server starts with any DATABASE_URL, and stops cleanly when its command gets SIGTERM',
  async (runtime) => {
    const folder = join(database.folder, 'a folder, new')
    const [program, ...words] = commands[runtime]
    const command = spawn(program, words, {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PORT: '0',
        OAUTH_CIMD: 'off',
        DATABASE_URL: `file:${encodeURI(folder)}/grid.db`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    groups.add(command.pid!)
    let [stdout, stderr] = ['', '']
    command.stderr.setEncoding('utf8').on('data', (text) => stderr += text)
    const closed = once(command, 'close').finally(() => groups.delete(command.pid!))
    await new Promise<void>((resolve, reject) => {
      command.stdout.setEncoding('utf8').on('data', (text) => {
        stdout += text
        if (stdout.includes('/set-up/')) resolve()
      })
      void closed.then(() => reject(new Error(stdout + stderr)))
    })

    command.kill('SIGTERM')
    await closed

    expect(stdout).toContain(`Data file  ${folder}/grid.db\n`)
    expect(stderr).toContain('"message":"Stopped"')
    expect(existsSync(join(folder, 'grid.db-wal'))).toBe(false)
  },
)

test.each(['deno', 'bun'] as const)('the start on %s needs no package, only the runtime on PATH', async (runtime) => {
  const checkout = join(database.folder, 'checkout')
  mkdirSync(join(checkout, 'src'), { recursive: true })
  mkdirSync(join(database.folder, 'bin'))
  for (const path of ['package.json', 'deno.json', 'scripts/other-runtime.js']) cpSync(path, join(checkout, path))
  writeFileSync(join(checkout, 'src/main.ts'), 'const words: string[] = process.argv.slice(2)\nconsole.log(words)\n')
  symlinkSync(runtimeBinary(runtime), join(database.folder, 'bin', runtime))
  const env = { PATH: `${join(database.folder, 'bin')}:${process.env.PATH}`, HOME: process.env.HOME }
  const [program, ...words] = commands[runtime]
  const command = spawn(program, words, { cwd: checkout, env })
  let output = ''
  for (const stream of [command.stdout, command.stderr]) stream.setEncoding('utf8').on('data', (text) => output += text)
  const [code] = await once(command, 'close')

  expect(code, output).toBe(0)
  expect(output).toMatch(/^\[ ["']serve["'] \]\n$/)
})

test("Deno may also write to the folders of scheduled backups and of a remote database's backups", () => {
  expect(runtimeCommand('deno', 'libsql://grid.example', '/b')).toContain(`--allow-write=/b,${tmpdir()}`)
  expect(runtimeCommand('deno', 'file:/a/grid.db', '/b')).toContain('--allow-write=/a,/b')
})

test('Deno may use the files named on the command line', () => {
  const elsewhere = join(database.folder, 'else, where')
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'key'), 'a long passphrase')
  const run = (...words: string[]) => {
    const command = ['scripts/other-runtime.js', 'deno', 'src/main.ts', ...words, '--json']
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, DATABASE_URL: `file:${database.folder}/data/grid.db` }
    const { stdout, stderr } = spawnSync(process.execPath, command, { env, encoding: 'utf8' })
    return JSON.parse(stdout || stderr)
  }
  run('migrate')

  const backup = relative('.', join(elsewhere, 'b1.backup'))
  expect(run('backup', backup, '--key-file', join(elsewhere, 'key'))).toMatchObject({ encrypted: true })
  expect(run('restore', `--key-file=${join(elsewhere, 'key')}`, backup)).toMatchObject({ messages: 0 })
  const account = run('create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example').account_id
  const archive = relative('.', join(elsewhere, 'acme.archive'))
  const { fingerprint } = run('export-account', '--account', account, archive)
  expect(run('import-account', archive, '--fingerprint', fingerprint)).toMatchObject({ error: { code: 'names_taken' } })
  expect(run('try-guardrail', '--account', 'x', '--provider', 'pii', '--file', join(elsewhere, 'key'))).toMatchObject({
    error: { code: 'account_not_found' },
  })
})

test('Deno may not use a folder from a value that is not a path', () => {
  const writes = (...words: string[]) =>
    otherRuntimeCommand('deno', 'libsql://grid.example', undefined, words).filter((word) => word.includes('write'))

  expect(writes('create-account', '--name', '/srv/Acme')).toEqual([])
  expect(writes('backup', '--key', '/srv/phrase', '/b/1')).toEqual([`--allow-write=/b,${tmpdir()}`])
  expect(writes('import-account', '/b/1', '--rename', '/a/x=y')).toEqual([`--allow-write=/b,${tmpdir()}`])
})

test("Deno may write only to the database's folder, and to none with a remote database", () => {
  const permissions = (url?: string) => runtimeCommand('deno', url).filter((word) => word.startsWith('--allow-'))
  const own = ['--allow-net', '--allow-env', expect.stringMatching(/^--allow-read=/), expect.stringMatching(/ffi/)]

  expect(permissions('libsql://grid.example')).toEqual([...own, '--allow-sys=cpus,networkInterfaces,hostname'])
  for (const [url, folder] of [[undefined, resolve('data')], ['', resolve('data')], ['file:/a,b/grid.db', '/a,,b']]) {
    const local = permissions(url)
    expect(local).toEqual([
      ...own,
      '--allow-sys=cpus,networkInterfaces,hostname,statfs',
      `--allow-write=${folder}`,
    ])
    expect(local[2]).toMatch(new RegExp(`,${folder}$`))
  }
})

test.each(['file:./data/grid.db', 'file:grid.db', 'file:/srv/my%20data/grid.db', 'file:///srv/grid.db', 'http://db:1'])(
  'the database folder of %s is the folder of the file that the grid opens',
  (url) => {
    const path = localPath(url)
    expect(databaseFolder(url)).toBe(path === undefined ? undefined : resolve(path, '..'))
  },
)
