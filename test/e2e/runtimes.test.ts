import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type ProcessResult,
  runCommand,
  runtimes,
  type ServerProcess,
  startServe,
  type TemporaryDatabase,
  temporaryDatabase,
} from '../support/process.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { peopleScenario } from './people.ts'
import { scenario } from './scenario.ts'

let database: TemporaryDatabase
let sqld: Sqld
let server: ServerProcess | undefined
beforeAll(async () => {
  sqld = await startSqld()
})
afterAll(() => sqld.stop())
beforeEach(() => {
  database = temporaryDatabase()
})
afterEach(async () => {
  await server?.stop()
  server = undefined
  database.remove()
})

describe.each(runtimes)('on %s', (runtime) => {
  // OAUTH_CIMD=off: tests do not probe the internet.
  test.each(['off', 'on'])(
    'the whole grid works on a local file, and a second process is refused: thread %s',
    async (thread) => {
      server = await startServe(runtime, { DATABASE_URL: database.url, OAUTH_CIMD: 'off', DATABASE_THREAD: thread })
      await scenario(server.url)
      await peopleScenario(server.url, server.stdout().match(/\/set-up\/[\w-]+/)?.[0])

      const second = await runCommand(runtime, ['serve'], { DATABASE_URL: database.url, PORT: '0' })
      const stopped = await server.stop()

      expect(second).toMatchObject({ code: 1, stdout: '' })
      expect(second.stderr).toContain('is in use by another process (process ')
      expect(second.stderr).toContain('for several use libsql-server or Turso')
      expect(stopped.code).toBe(0)
      expect(logged(stopped)).toEqual([])
    },
  )

  test('the whole grid works on libsql-server', async () => {
    server = await startServe(runtime, { DATABASE_URL: sqld.url, OAUTH_CIMD: 'off' })
    await scenario(server.url)
    await peopleScenario(server.url, server.stdout().match(/\/set-up\/[\w-]+/)?.[0])

    const stopped = await server.stop()

    expect(stopped.stdout).toContain(`Database  ${new URL(sqld.url).host}`)
    expect(stopped.code).toBe(0)
    expect(logged(stopped)).toEqual([])
  })
})

/** Warnings and errors of the grid, without output of the runtime itself. */
function logged({ stderr }: ProcessResult): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('{'))
}
