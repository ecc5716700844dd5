/**
 * The commands send, read and watch, for people and scripts of an agent. See docs/operating/reference.md, "Commands".
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runtimeCommand } from '../../scripts/runtime.ts'
import { minute } from '../../src/lib/time.ts'
import { rows } from '../support/database.ts'
import { callTool } from '../support/mcp.ts'
import { personWithAlias } from '../support/person-aliases.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

vi.setConfig({ testTimeout: 60_000 })

let grid: LiveGrid
let home: string
beforeEach(async () => {
  grid = await liveGrid()
  home = mkdtempSync(join(tmpdir(), 'agent-grid-home-'))
})
afterEach(async () => {
  await grid.close()
  rmSync(home, { recursive: true })
})

test('send takes the text as an argument or from standard input, stores a retried message once, and can set an expiry', async () => {
  const send = ['send', '@bob', 'one', '--json', '--idempotency-key', 'k']
  const first = await run(grid.alice.key, send)
  expect((await run(grid.alice.key, send)).stdout).toBe(first.stdout)
  const second = await run(grid.alice.key, ['send', '@bob', '-'], 'two\nlines\n')
  const read = await run(grid.bob.key, ['read', '--json'])
  const empty = await run(grid.bob.key, ['read'])

  expect(JSON.parse(first.stdout)).toMatchObject({ recipient: '@bob', message_id: expect.any(String) })
  expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Sent to @bob: [0-9a-f-]{36}\n$/) })
  expect(JSON.parse(read.stdout).messages.map(({ message }: { message: string }) => message)).toEqual([
    'one',
    'two\nlines',
  ])
  expect(empty).toMatchObject({ code: 0, stdout: 'No unread messages.\n' })
  await run(grid.alice.key, ['send', '@bob', '--message', 'three', '--expires', '600'])
  expect((await run(grid.alice.key, ['send', '@bob', '--message', 'x', '--expires', '9'])).stderr).toContain('10 to')
  grid.clock.now += 10 * minute
  expect((await run(grid.bob.key, ['read'])).stdout).toBe('No unread messages.\n')
})

test('send --choice offers a person choices', async () => {
  await personWithAlias(grid, 'ann')
  const sent = await run(grid.alice.key, ['send', '@ann', 'May I?', '--choice', 'Yes', '--choice', 'No, wait'])
  const refused = await run(grid.alice.key, ['send', '@bob', 'May I?', '--choice', 'Yes'])

  expect(sent.code).toBe(0)
  const [{ a2a }] = await rows(grid, 'SELECT a2a FROM messages WHERE account_id = ?', [grid.acme.id])
  expect(JSON.parse(String(a2a))).toEqual({ choices: ['Yes', 'No, wait'] })
  expect(refused.stderr).toContain('choices are for a person')
})

test('read --lease leases messages, extends the lease, and ends it with an answer, and an ended lease is an error', async () => {
  const { stdout: id } = await run(grid.alice.key, ['send', '@bob', '--message', 'question\u001b[31m', '--json'])
  const question = JSON.parse(id).message_id
  const peek = await run(grid.bob.key, ['read', '--peek'])
  const leased = await run(grid.bob.key, ['read', '--lease', '60'])
  const lease = leased.stdout.match(/read --ack (\S+)/)![1]
  const extended = await run(grid.bob.key, ['read', '--extend', lease, '--seconds', '90', '--json'])
  const answer = ['send', '@alice', '--message', 'answer', '--reply-to', question, '--acks', lease]
  const answered = await run(grid.bob.key, answer)
  const again = await run(grid.bob.key, [...answer, '--json'])
  const late = await run(grid.bob.key, ['read', '--ack', lease])

  for (const { stdout } of [peek, leased]) {
    expect(stdout).toContain('@alice, ')
    expect(stdout).toContain('\n  question[31m\n')
  }
  expect(JSON.parse(extended.stdout)).toEqual({ expires_at: new Date(grid.clock.now + 90_000).toISOString() })
  expect(answered.code).toBe(0)
  expect([again.code, JSON.parse(again.stdout).error.code]).toEqual([1, 'stale_lease'])
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('This lease has ended') })
  expect((await callTool(grid, grid.alice.key, 'read_messages')).text).toMatchObject([
    { message: 'answer', reply_to_message_id: question },
  ])
})

test('send --wait prints the answer, or the reason why there is none', async () => {
  const early = await run(grid.alice.key, ['send', '@bob', 'Six times seven?', '--wait'])
  await callTool(grid, grid.bob.key, 'read_messages')
  const asking = start(grid.alice.key, ['send', '@bob', 'And six times eight?', '--wait'])
  const { text: [question] } = await callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 20 })
  const answer = { to: '@alice', message: '48', reply_to_message_id: question.message_id }
  await callTool(grid, grid.bob.key, 'send_message', answer)

  expect(early).toMatchObject({ code: 3, stdout: expect.stringContaining('@bob has never connected') })
  expect(await asking.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^@bob, .*\n {2}48\n$/) })
})

test('messages released with read --release are redelivered, and marked as such', async () => {
  await run(grid.alice.key, ['send', '@bob', '--message', 'hi'])
  const { stdout } = await run(grid.bob.key, ['read', '--lease', '60', '--json'])
  const released = await run(grid.bob.key, ['read', '--release', JSON.parse(stdout).lease_id])

  expect(released.stdout).toBe('1 message unread again.\n')
  expect((await run(grid.bob.key, ['read'])).stdout).toContain('redelivered')
})

test('send suggests an agent of the account for a misspelt alias', async () => {
  const [like, foreign] = [
    await run(grid.alice.key, ['send', '@bbo', 'hi']),
    await run(grid.alice.key, ['send', '@evee', 'hi']),
  ]

  expect(like).toMatchObject({ code: 1, stderr: `Agent '@bbo' not found. Did you mean "@bob"?\n` })
  expect(foreign.stderr).toBe("Agent '@evee' not found\n")
})

test.each([
  ['no recipient', ['send', '--message', 'hi'], 'send needs TO'],
  ['two modes', ['read', '--peek', '--ack', 'x'], 'Give only one of --peek, --ack'],
])('a command line with %s has the exit code 2', async (_, words, text) => {
  expect(await run(grid.bob.key, words)).toMatchObject({ code: 2, stderr: expect.stringContaining(text) })
})

test.each([
  ['an unknown agent', (key: string) => key, '@nobody', 1, 'recipient_not_found'],
  ['an unknown key', () => `grid_agt_${'x'.repeat(49)}`, '@bob', 1, 'unauthenticated'],
  ['no connection, which a person has to make,', () => undefined, '@bob', 3, 'not_connected'],
])('send reports %s by its exit code and in JSON', async (_, keyOf, to, exitCode, code) => {
  const result = await run(keyOf(grid.alice.key), ['send', to, '--message', 'hi', '--json'])

  expect([result.code, JSON.parse(result.stdout).error.code]).toEqual([exitCode, code])
})

test('watch prints a line whenever messages arrive, and with --once exits after the first', async () => {
  const watching = start(grid.bob.key, ['watch'])
  await waitFor('the stream', () => grid.store.waiting.streams.count === 1)
  await run(grid.alice.key, ['send', '@bob', '--message', 'hi'])
  await waitFor('the line', () => watching.output().includes('\n'))
  watching.child.kill()
  const once = await run(grid.bob.key, ['watch', '--once', '--json'])

  expect(watching.output()).toBe('@bob: 1 unread from @alice\n')
  expect(JSON.parse(once.stdout)).toMatchObject({ agent: '@bob', unread: 1, messages: [{ user: '@alice' }] })
})

function start(key: string | undefined, words: string[]) {
  const [file, ...args] = [...runtimeCommand('node'), 'src/client.ts', ...words]
  const access = key === undefined ? {} : { AGENT_GRID_URL: grid.url, AGENT_GRID_KEY: key }
  const { PATH = '' } = process.env
  const child = spawn(file, args, { env: { PATH, AGENT_GRID_HOME: home, ...access } })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => stdout += chunk)
  child.stderr.on('data', (chunk) => stderr += chunk)
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  )
  return { child, ended, output: () => stdout }
}

async function run(key: string | undefined, words: string[], input = '') {
  const { child, ended } = start(key, words)
  child.stdin.end(input)
  return await ended
}
