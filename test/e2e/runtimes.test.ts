import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type Ended,
  type Place,
  runCommand,
  runtimes,
  type ServerProcess,
  startServe,
  temporaryPlace,
} from '../support/process.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'
import { peopleScenario } from './people.ts'
import { scenario } from './scenario.ts'

let place: Place
let sqld: Sqld
let server: ServerProcess | undefined
beforeAll(async () => {
  sqld = await startSqld()
})
afterAll(() => sqld.stop())
beforeEach(() => {
  place = temporaryPlace()
})
afterEach(async () => {
  await server?.stop()
  server = undefined
  place.remove()
})

describe.each(runtimes)('on %s', (runtime) => {
  // No test asks the internet whether it is there.
  test('the whole grid works on a local file, and a second process is refused', async () => {
    server = await startServe(runtime, { DATABASE_URL: place.url, OAUTH_CIMD: 'off' })
    await scenario(server.url)
    await peopleScenario(server.url, server.stdout().match(/\/set-up\/[\w-]+/)?.[0])

    const second = await runCommand(runtime, ['serve'], { DATABASE_URL: place.url, PORT: '0' })
    const stopped = await server.stop()

    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toContain('is in use by another process (process ')
    expect(second.stderr).toContain('for several use libsql-server or Turso')
    expect(stopped.code).toBe(0)
    expect(logged(stopped)).toEqual([])
  })

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

/** Warnings and errors of the grid; a runtime may say things of its own. */
function logged({ stderr }: Ended): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('{'))
}
