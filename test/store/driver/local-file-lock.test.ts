/** The lock that limits a local database file to one process. */
import { spawn } from 'node:child_process'
import { existsSync, linkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runtimeCommand } from '../../../scripts/runtime.ts'
import { openStopped } from '../../../src/store/backup/stopped.ts'
import { type LocalFile, localFile, pragmas, putFact } from '../../support/local-file.ts'
import { waitFor } from '../../support/wait-for.ts'

let file: LocalFile
beforeEach(() => {
  file = localFile()
})
afterEach(() => file.close())

test("a second process is refused with the file's owner, and the first process continues to write", async () => {
  const { store, client } = await file.open()
  await putFact(store, 'before')

  const startedAt = Date.now()
  const second = await hold()
  await putFact(store, 'after')

  expect(second.answer).toEqual({
    code: 'database_in_use',
    refused: expect.stringMatching(
      new RegExp(
        `^The database ${file.path} is in use by another process \\(process ${process.pid} on .+ since .+\\)\\. ` +
          'Stop that process first: a local file takes one process; for several use libsql-server or Turso\\.$',
      ),
    ),
  })
  expect(Date.now() - startedAt).toBeLessThan(60_000)
  expect((await client.execute('PRAGMA integrity_check')).rows).toMatchObject([{ integrity_check: 'ok' }])
  await store.close()
  expect(await file.facts()).toEqual(expect.arrayContaining(['before', 'after']))
})

test('a second store in the same process is refused, and the first store keeps its lock', async () => {
  await file.open()

  await expect(file.open()).rejects.toMatchObject({ code: 'database_in_use' })

  expect((await hold()).answer).toMatchObject({ code: 'database_in_use' })
})

test('the lock applies to the file, whatever link leads to it', async () => {
  await file.open()
  const link = join(file.folder, 'link.db')
  symlinkSync(file.path, link)

  expect((await hold(link)).answer).toMatchObject({ code: 'database_in_use' })
  await expect(openStopped({ url: `file:${link}` })).rejects.toMatchObject({ code: 'database_in_use' })
})

test('a file with two names is refused, because each name would have its own lock', async () => {
  const { store } = await file.open()
  await store.close()
  const second = join(file.folder, 'second.db')
  linkSync(file.path, second)

  for (const path of [file.path, second]) {
    await expect(file.open({ DATABASE_URL: `file:${path}` })).rejects.toMatchObject({ code: 'database_linked' })
  }
})

test('kill -9 releases the lock, and acknowledged writes are stored', async () => {
  const first = await hold()
  expect(first.answer).toEqual({ opened: true })
  await first.kill()

  await file.open()

  expect(existsSync(`${file.path}.owner`)).toBe(true)
  for (const close of file.closing.splice(0)) await close()
  expect(await file.facts()).toEqual(expect.arrayContaining([`held by ${first.pid}`]))
})

test('a start can wait for a stopping process', async () => {
  const first = await hold()
  let looks = 0
  const opened = file.open({}, { lockWaitSeconds: 30 }, () => looks++)
  await waitFor('two refusals', () => looks >= 3)
  await first.stop()

  const { store, client } = await opened
  await putFact(store, 'mine')

  expect(await pragmas(client)).toMatchObject({ journal_mode: 'wal', synchronous: 2 })
  expect((await hold()).answer).toMatchObject({ code: 'database_in_use' })
})

test('a second process is refused even without an owner file', async () => {
  await file.open()
  rmSync(`${file.path}.owner`)

  expect((await hold()).answer).toMatchObject({
    refused: expect.stringContaining('is in use by another process. Stop that process'),
  })
})

/** Starts another process that tries to open the file. It runs on Bun, which starts fastest. */
async function hold(path = file.path) {
  const [program, ...args] = [...runtimeCommand('bun'), 'test/store/driver/hold-database.ts', `file:${path}`]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  file.closing.push(() => child.kill('SIGKILL') && ended)
  const output = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))))
  return {
    pid: child.pid,
    answer: JSON.parse(output),
    stop: () => (child.stdin.end(), ended),
    kill: () => (child.kill('SIGKILL'), ended),
  }
}
