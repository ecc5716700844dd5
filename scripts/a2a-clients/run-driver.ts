/** Runs the driver of a framework against an agent of a grid. */
import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { minute } from '../../src/lib/time.ts'
import type { Framework, Outcome } from './frameworks.ts'

const run = promisify(execFile)

/**
 * `node` runs `file`, the driver, in the folder where its framework is installed. It gets the address of the agent and
 * the key of the caller, and nothing else. Fails with what the driver printed if that is no outcome.
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
