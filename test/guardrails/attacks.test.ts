/** Expressions that take seconds and run on a thread. See docs/protocol/guardrails.md, "How a message is checked". */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Runtime, runtimeCommand } from '../../scripts/runtime.ts'
import { isLong, someRuntimes } from '../support/long.ts'
import type { Attacked } from './attack-script.ts'
import type { OtherAccounts } from './hostile-accounts.ts'

test.each(someRuntimes)('on %s, slow expressions block neither the event loop nor other accounts', async (runtime) => {
  const found = await printed<Record<string, Attacked>>(runtime, 'test/guardrails/attack-script.ts')

  // Each check takes at least a second. Other work on the machine may delay the event loop by some milliseconds.
  const held = Object.values(found).map(({ heldMs }) => heldMs)
  expect(Math.max(...held)).toBeLessThan(700)
  // For a check that timed out, the failure mode decides.
  expect(found.closed.answer).toMatch(/^guardrail_unavailable: /)
  expect(JSON.parse(found.open.answer).id).toBeDefined()
  // A check that never ran is unavailable, even if the failure mode is open.
  expect(found.many.answer).toMatch(/^guardrail_unavailable: /)
  expect(found.others.answer).toContain('"redacted":["text that is not allowed"]')
  expect(found.everywhere.answer).toContain('"redacted":["text that is not allowed"]')
  expect(found.create.answer).toMatch(/^invalid_input: config: These expressions take too long to compile/)
  expect(JSON.parse(found.try.answer).failure.reason).toBe('too_slow')
})

test.runIf(isLong).each(someRuntimes)(
  "on %s, other accounts' checks succeed while five accounts continuously send slow expressions",
  async (runtime) => {
    const forMs = 10 * 60_000
    const found = await printed<OtherAccounts>(runtime, 'test/guardrails/hostile-accounts.ts', {
      HOSTILE_MS: `${forMs}`,
    })

    expect(Object.keys(found.answers)).toEqual(['found'])
    expect(found.answers.found).toBeGreaterThan(20)
    // A check waits at most until another account's job has ended and the next thread has started.
    expect(found.slowestMs).toBeLessThan(4_000)
    expect(found.hostile.found).toBeUndefined()
  },
  12 * 60_000,
)

/** Runs a program. Resolves to the last JSON that it printed. */
async function printed<Found>(runtime: Runtime, program: string, env: Record<string, string> = {}): Promise<Found> {
  // The only folder where Deno may write.
  const folder = mkdtempSync(join(tmpdir(), 'attacks-'))
  const [command, ...words] = runtimeCommand(runtime, `file:${folder}/grid.db`, folder)
  const { stdout } = await promisify(execFile)(command, [...words, program], {
    env: { ...process.env, TMPDIR: folder, ...env },
  })
  rmSync(folder, { recursive: true, force: true })
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}
