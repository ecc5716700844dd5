/** The files that a machine's client programs share. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { configFolder, dataFolder, logLine, stateFolder } from '../../src/clients/state/paths.ts'
import { isAlive, lockHolder, markOf, ownMark, takeLock } from '../../src/clients/state/lock.ts'
import { claimUnnotified, endSession, liveSessions, saveSession } from '../../src/clients/state/sessions.ts'
import { waitFor } from '../support/wait-for.ts'

let home: string
const agent = { url: 'https://grid.example.com', alias: '@bob' }
/** The identity of a process that has ended. It has this process's id, but a different start time. */
const ended = { pid: process.pid, start: 'before' }

const messages = (ids: string[]) => ids.map((message_id) => ({ message_id }))
const idsOf = (claimed: { message_id: string }[]) => claimed.map(({ message_id }) => message_id)

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'agent-grid-state-'))
  vi.stubEnv('AGENT_GRID_HOME', home)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

test('AGENT_GRID_HOME moves all folders, and each agent has its own state folder', () => {
  const folders = [configFolder(), dataFolder(), stateFolder(agent), stateFolder({ ...agent, alias: '@ann' })]
    .concat(stateFolder({ ...agent, url: 'http://grid.example.com' }), stateFolder({ ...agent, url: `${agent.url}/b` }))

  expect(folders.every((folder) => folder.startsWith(home))).toBe(true)
  expect(new Set(folders).size).toBe(6)
  expect(stateFolder({ url: `${agent.url}/`, alias: 'bob' })).toBe(stateFolder(agent))
  expect(statSync(stateFolder(agent)).mode & 0o777).toBe(0o700)
  // No alias may lead out of the parent folder of the agents' folders.
  for (const alias of ['@../../x', '@..\\..\\x', '@a/b', '@\0']) {
    expect(dirname(stateFolder({ ...agent, alias }))).toBe(dirname(stateFolder(agent)))
  }

  vi.stubEnv('AGENT_GRID_HOME', '')
  for (const name of ['CONFIG', 'STATE', 'DATA']) vi.stubEnv(`XDG_${name}_HOME`, join(home, name))
  expect(configFolder()).toBe(join(home, 'CONFIG/agent-grid'))
  expect(dataFolder()).toBe(join(home, 'DATA/agent-grid'))
  expect(stateFolder(agent)).toBe(join(home, 'STATE/agent-grid/grid.example.com+bob'))
})

test('a process is distinguished from a later one with the same id', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'inherit'] })
  await once(child, 'spawn')
  const mark = markOf(child.pid!)!

  expect(isAlive(mark)).toBe(true)
  expect(isAlive(ended)).toBe(false)
  child.kill('SIGKILL')
  await waitFor('its end', () => !isAlive(mark))
  expect(markOf(child.pid!)).toBeUndefined()
})

test('a lock has one holder, and can be taken again after its release', () => {
  const path = join(home, 'a', 'lock')
  const lock = takeLock(path, { client: 'claude' })

  expect(takeLock(path)).toBeUndefined()
  expect(lockHolder(path)).toEqual({ ...ownMark(), client: 'claude' })
  lock!.release()
  expect(lockHolder(path)).toBeUndefined()
  expect(takeLock(path)).toBeDefined()
})

test.each([['of a dead process', JSON.stringify(ended)], ['that is broken', '{']])(
  'a lock %s is taken over by only one of many processes',
  (_, text) => {
    const path = join(home, 'lock')
    writeFileSync(path, text)
    // A new lock file that looks broken may still be incomplete, so this file must be older.
    if (text === '{') vi.setSystemTime(Date.now() + 10_000)

    // This file means that another process is taking over the lock.
    writeFileSync(`${path}.takeover`, '')
    if (text !== '{') expect(takeLock(path)).toBeUndefined()
    rmSync(`${path}.takeover`)

    const locks = Array.from({ length: 20 }, () => takeLock(path)).filter((lock) => lock !== undefined)
    vi.useRealTimers()

    expect(locks).toHaveLength(1)
    expect(locks[0].isOurs()).toBe(true)
    expect(existsSync(`${path}.takeover`)).toBe(false)
  },
)

test('sessions of ended processes are removed, and the others are listed by age', async () => {
  await saveSession(agent, { ...ownMark(), client: 'claude', id: 'a' })
  await saveSession(agent, { ...ended, client: 'codex', id: 'b' })
  await saveSession(agent, { ...ownMark(), client: 'opencode', id: 'c', since: Date.now() + 1_000 })
  const renamed = await saveSession(agent, { ...ownMark(), client: 'claude', id: 'after-clear', wakes: true })

  expect(liveSessions(agent).map(({ id }) => id)).toEqual(['after-clear', 'c'])
  expect(renamed.since).toBe(liveSessions(agent)[0].since)
  expect(existsSync(join(stateFolder(agent), 'sessions', `codex-${process.pid}.json`))).toBe(false)
  endSession(agent, { client: 'claude', pid: process.pid })
  expect(liveSessions(agent).map(({ id }) => id)).toEqual(['c'])
})

test.each(['', '[', '[[], null, {"id": 7}]', '{"__proto__": 1}'])(
  'a message id is claimed by one of many concurrent processes, and damaged state counts as empty: %j',
  async (text) => {
    writeFileSync(join(stateFolder(agent), 'told.json'), text)
    const claims = await Promise.all(
      Array.from({ length: 30 }, () => claimUnnotified(agent, messages(['m1', 'm2']), { session: 's' })),
    )

    expect(claims.flatMap(idsOf).toSorted()).toEqual(['m1', 'm2'])
  },
)

test('a message id can be claimed again after some time, but only once, and 200 ids are remembered', async () => {
  const claim = async (ids: string[], againAfterMs?: number) =>
    idsOf(await claimUnnotified(agent, messages(ids), { session: 's', againAfterMs }))
  await claim(['m'])

  expect([await claim(['m'], 1_000_000), await claim(['m'], 0), await claim(['m'], 0)]).toEqual([[], ['m'], []])
  await claim(Array.from({ length: 200 }, (_, i) => `n${i}`))
  expect(await claim(['m'])).toEqual(['m'])
})

test('the log is rotated at one megabyte', () => {
  mkdirSync(stateFolder(agent), { recursive: true })
  const path = join(stateFolder(agent), 'client.log')
  writeFileSync(path, 'x'.repeat(1_000_001))

  logLine(agent, 'next')

  expect(statSync(path).size).toBeLessThan(100)
  expect(statSync(`${path}.1`).size).toBe(1_000_001)
})
