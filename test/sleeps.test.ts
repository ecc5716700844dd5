/**
 * Tests wait for conditions (`support/wait-for.ts`). A fixed sleep is flaky on a loaded machine and slow on all others.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Calls that sleep for a fixed time, or that poll without `waitFor`. */
const refused = [
  /\bsetTimeout\(/,
  /\bsleep\(/,
  /\bsetInterval\(/,
  /'node:timers(?:\/promises)?'/,
  /\bAtomics\.wait\(/,
  /\bwaitForTimeout\(/,
  /\b(?:vi\.waitFor|vi\.waitUntil|expect\.poll)\(/,
]

/** Files that may use timers, and why. */
const allowed: Record<string, string> = {
  'support/wait-for.ts': 'polls a condition, with a limit',
  'support/children.ts': 'programs that run until they are ended',
  'support/live.ts': 'a limit on how long an event may take',
  'support/chromium.ts': 'a limit on how long the browser may take to close',
  'support/hostile.ts': 'a server that writes slowly, which is what the test is about',
  'support/killed-process.ts': 'a program that kills itself at a random moment',
  'support/fault.ts': 'a program that a fault ends before its timer fires',
  'support/responder.ts': 'a recipient that works for a while, because a suite asks it to',
  'auth/passwords.test.ts': 'measures how long the event loop is held',
  'store/driver/remote-queries.test.ts': 'waits until the server has ended a stream, in the long tests',
  'store/loop-turns.test.ts': 'sees that nothing is asked for a while',
  'support/counting-proxy.ts': 'a server that is some way off, which is what the test is about',
  'worker/idle-requests.test.ts': 'counts requests for a while',
  'docs/page-shell.ts': 'a limit on how long the blocks of a page may take',
  'guardrails/hostile-accounts.ts': 'the pace of accounts next to an attack',
  'guardrails/attack-script.ts': 'measures how long the event loop is held',
  'clients/silent-grid.test.ts': 'a server whose frames come one by one, which is what the test is about',
  'e2e/idle-server.ts': 'an answer that comes late, which is what the test is about',
  'e2e/fuzz/client.ts': 'a limit on how long an answer may take',
  'e2e/two-grids.test.ts': 'a random time until the next kill, and the pause before a call is repeated',
  'features/slack/killed.test.ts': 'the time between an event and the kill',
  'e2e/asks.test.ts': 'a random time until an answer, a hang-up and the next kill',
  'e2e/load.ts': 'the pace of load generators: `pause`',
  'e2e/killed-runners.test.ts': 'a clock that goes faster',
  'e2e/killed-workers.test.ts': 'a clock that goes faster, and the pause before a call is repeated',
}

const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))

test('no test sleeps for a fixed time', () => {
  const found = files.filter((path) => !(path in allowed))
    .flatMap((path) => linesOf(path).filter(isRefused).map((line) => `${path}: ${line.trim()}`))

  expect(found).toEqual([])
})

test('every file that is allowed to use timers uses one', () => {
  expect(Object.keys(allowed).filter((path) => !files.includes(path) || !linesOf(path).some(isRefused))).toEqual([])
})

function isRefused(line: string): boolean {
  return refused.some((pattern) => pattern.test(line))
}

function linesOf(path: string): string[] {
  return readFileSync(`test/${path}`, 'utf8').split('\n')
}
