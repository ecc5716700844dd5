/** Runners in the test process, each with its own folder. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { GridClient } from '../../src/clients/grid-client.ts'
import { commandProgram } from '../../src/clients/run/programs.ts'
import { RunState } from '../../src/clients/run/run-state.ts'
import { runAgent, type RunnerOptions } from '../../src/clients/run/runner.ts'

/** Creates a folder for the client programs' state, and for scripts that runners start. */
export function runnerFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-runner-'))
  const before = process.env.AGENT_GRID_HOME
  process.env.AGENT_GRID_HOME = join(folder, 'home')
  return {
    folder,
    /** Writes a Node program. Returns the program's path. */
    program(name: string, text: string): string {
      const path = join(folder, name)
      writeFileSync(path, `#!${process.execPath}\n${text}\n`)
      chmodSync(path, 0o755)
      return path
    },
    remove() {
      if (before === undefined) delete process.env.AGENT_GRID_HOME
      else process.env.AGENT_GRID_HOME = before
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a runner for `@worker`. */
export function startRunner(
  url: string,
  folder: string,
  words: string[],
  { key = 'ag_key', ...given }: Partial<RunnerOptions> & { key?: string } = {},
) {
  const stopping = new AbortController()
  const log: string[] = []
  const agent = { url, alias: '@worker' }
  const state = new RunState(agent, given.now ?? Date.now)
  const options: RunnerOptions = {
    agent: '@worker',
    program: commandProgram(words),
    extra: [],
    format: 'json',
    per: 'thread',
    folder,
    timeoutMs: 60_000,
    perHour: 1_000,
    leaseSeconds: 300,
    backoff: { firstMs: 1, longestMs: 5 },
    standByMs: 5,
    now: Date.now,
    log: (message) => log.push(message),
    ...given,
  }
  const ended = runAgent(new GridClient({ url, key }), agent, state, options, stopping.signal)
  ended.catch(() => {})
  return {
    log,
    state,
    ended,
    stop() {
      stopping.abort()
      return ended
    },
  }
}
