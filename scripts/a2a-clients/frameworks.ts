import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { minute } from '../../src/lib/time.ts'

/** The frameworks that speak A2A, with the expected outcomes. Each has a driver, `NAME.mjs`, in this folder. */

export interface Framework {
  /** The packages to install, in one folder. */
  packages: string[]
  driver: string
  env?: Record<string, string>
  /** `question` if it shows the agent's question, `answer` if it can also answer it in the same task. */
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

/** A driver's output: for each step the result, the error, or that the framework does not support it. */
export type Outcome = Record<'send' | 'stream' | 'turn', { result?: unknown; error?: string; missing?: true }>

/** Lists the steps whose outcome differs from the expected one. */
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
 * Runs the driver `file` with the given `node`, in the folder where its framework is installed. The driver gets only
 * the agent's address and the caller's key. If it prints no outcome, fails with its output.
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
