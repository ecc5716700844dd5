/** Announces once that the grid has a newer client program. See docs/stability.md, "Client programs". */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../lib/version.ts'
import { connectAgain } from '../connections.ts'
import { type GridAgent, stateRoot } from '../state/paths.ts'
import type { HookWords } from './call.ts'

/** A line with the command that updates this program; empty if this version was already announced on this machine. */
export function newerProgram(
  { client, isPlugin }: Pick<HookWords, 'client' | 'isPlugin'>,
  agent: GridAgent,
  served: unknown,
  own = version,
): string[] {
  // The version is checked, because a hostile grid may send any text.
  if (typeof served !== 'string' || !/^\d{1,4}(\.\d{1,4}){2}$/.test(served) || !isNewer(served, own)) return []
  try {
    mkdirSync(stateRoot(), { recursive: true, mode: 0o700 })
    // If several sessions start at once, only one of them creates the file.
    writeFileSync(join(stateRoot(), `newer-program-${served}`), '', { flag: 'wx', mode: 0o600 })
  } catch {
    return []
  }
  const { url, alias } = agent
  const update = isPlugin ? `updates the plugin in ${client}` : `runs: ${connectAgain({ client, url, alias })}`
  return [
    `The grid has agent-grid ${served}, this machine ${own}. Both work together. To update it, the user ${update}`,
  ]
}

function isNewer(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number))
  const different = left.findIndex((part, i) => part !== right[i])
  return different >= 0 && left[different] > right[different]
}
