import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { callTool, mcp } from '../e2e/client.ts'
import { someRuntimes } from '../support/long.ts'
import { type ProcessResult, runCommand, startServe } from '../support/process.ts'
import { useDatabase } from '../support/use-database.ts'

const database = useDatabase()

describe.each(someRuntimes)('commands on %s', (runtime) => {
  test('commands run in the running server, and the keys they create work immediately', async () => {
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    try {
      const account = await json('create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example')
      const [carol, dave] = await Promise.all(
        ['carol', 'dave'].map((alias) => json('create-agent', '--account', account.account_id, '--alias', alias)),
      )
      const taken = await run('create-agent', '--account', account.account_id, '--alias', 'carol')

      await callTool(server.url, carol.api_key, 'send_message', { to: dave.alias, message: 'hi' })
      const read = await callTool(server.url, dave.api_key, 'read_messages')
      const asAdmin = await mcp(server.url, account.admin_key, 'tools/list')

      expect(read.messages).toMatchObject([{ user: '@carol', message: 'hi' }])
      expect(asAdmin.status).toBe(200)
      expect(taken).toMatchObject({ code: 1, stdout: '', stderr: 'The alias @carol is taken. Choose another.\n' })
    } finally {
      await server.stop()
    }
  })
})

test('create-account refuses a short password, and with a longer one prints the ids and the admin key', async () => {
  const owner = ['create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example', '--new', '--password']

  const refused = await run(...owner, 'short', '--json')
  const taken = await run(...owner, 'correct horse battery')

  expect(refused.code).toBe(1)
  expect(JSON.parse(refused.stdout).error).toEqual({
    code: 'invalid_input',
    message: 'A password has 10 to 200 characters.',
  })
  expect(taken).toMatchObject({ code: 0, stderr: '' })
  expect(taken.stdout).toMatch(/^Account +[0-9a-f-]{36}\nOwner +[0-9a-f-]{36}\nAdmin key +grid_adm_/)
  expect(taken.stdout).toContain('Sign in    http://localhost:8787/sign-in\n')
})

test.each([
  ['an unknown command', ['nope'], 2, 'usage'],
  ['a bad option', ['create-agent', '--nope'], 2, 'usage'],
  ['an unknown account', ['create-agent', '--account', 'nobody', '--alias', 'carol'], 1, 'account_not_found'],
])('with --json, a failure is one JSON object: %s', async (_, words, exitCode, code) => {
  await run('migrate')

  const { stdout, stderr, ...ended } = await run(...words, '--json')

  expect(ended.code).toBe(exitCode)
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({ error: { code, message: expect.any(String) } })
})

test('a start reports all invalid settings together, with their format', async () => {
  const env = { DATABASE_URL: database.url, PORT: 'eighty', LOG_LEVEL: 'loud' }

  const { code, stdout, stderr } = await runCommand('bun', ['serve'], env)

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('PORT must be a number from 0 (any free port) to 65535, not "eighty".')
  expect(stderr).toContain('LOG_LEVEL must be debug, info, warn or error, not "loud".')
})

test('only the owner can read the files that commands create', async () => {
  mkdirSync(join(database.folder, 'wide'), { mode: 0o755 })
  database.url = `file:${join(database.folder, 'wide', 'new', 'grid.db')}`

  await json('migrate')

  const folder = join(database.folder, 'wide', 'new')
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077).toBe(0)
})

/** Runs a command on Bun, which starts fastest. */
function run(...words: string[]): Promise<ProcessResult> {
  return runCommand('bun', words, { DATABASE_URL: database.url, LOG_LEVEL: 'error' })
}

/** Runs a command that must print exactly one JSON object. Returns the object. */
async function json(...words: string[]) {
  const { code, stdout, stderr } = await run(...words, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  return JSON.parse(stdout)
}
