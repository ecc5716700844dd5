import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { minute } from '../../src/lib/time.ts'

/** The frameworks that speak A2A, and the expected outcomes. Each has a driver in this folder, `NAME.mjs`. */

export interface Framework {
  /** The packages to install, in one folder. */
  packages: string[]
  driver: string
  env?: Record<string, string>
  /** `question`: the framework shows the agent's question. `answer`: the framework can also answer in the same task. */
  turn?: 'question' | 'answer'
}

export const frameworks: Record<string, Framework> = {
  adk: { packages: ['@google/adk'], driver: 'adk', turn: 'question' },
  'mastra-0.3': {
    packages: ['@mastra/core', 'zod'],
    driver: 'mastra',
    env: { A2A_VERSION: '0.3' },
    turn: 'answer',
  },
  'mastra-1.0': {
    packages: ['@mastra/core', 'zod'],
    driver: 'mastra',
    env: { A2A_VERSION: '1.0' },
    turn: 'answer',
  },
  strands: { packages: ['@strands-agents/sdk', '@a2a-js/sdk@0.3'], driver: 'strands', turn: 'question' },
  vercel: { packages: ['a2a-ai-provider', 'ai@6'], driver: 'vercel' },
}

/** A driver's output for each step: a result, an error, or a mark that the framework does not support the step. */
export type Outcome = Record<'send' | 'stream' | 'turn', { result?: unknown; error?: string; missing?: true }>

/** The steps whose outcome differs from the expected one; empty if there are none. */
export function faultsOf({ turn }: Framework, outcome: Outcome): string[] {
  const asked = 'What else do you need?'
  const expected = {
    send: { result: 'You said: How are you?' },
    stream: { result: 'one two three' },
    turn: turn === undefined ? { missing: true } : { result: turn === 'answer' ? [asked, 'All done'] : [asked] },
  }
  const { stream } = outcome
  const actual = { ...outcome, stream: Array.isArray(stream.result) ? { result: stream.result.join('') } : stream }
  return (['send', 'stream', 'turn'] as const)
    .filter((step) => JSON.stringify(actual[step]) !== JSON.stringify(expected[step]))
    .map((step) => `${step}: ${JSON.stringify(outcome[step])}`)
}

const run = promisify(execFile)

/**
 * Runs the driver `file` with `node` in the framework's folder. The driver gets only the agent's URL and the caller's
 * key. Fails with the driver's output if the output is not an outcome.
 */
export async function runDriver(
  node: string,
  file: string,
  { env }: Framework,
  { url, key }: { url: string; key: string },
): Promise<Outcome> {
  const { stdout, stderr } = await run(node, [file], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, AGENT_URL: url, AGENT_KEY: key, ...env },
    timeout: 2 * minute,
  })
  const [line] = stdout.split('\n').filter((line) => line.startsWith('{"send"'))
  if (line === undefined) throw new Error(`The driver printed no outcome: ${stdout} ${stderr}`)
  return JSON.parse(line)
}
