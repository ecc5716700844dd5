/** The commands that run programs of this repository on the three runtimes. */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { otherRuntimeCommand, runtimeBinary } from './other-runtime.js'

export { runtimeBinary }

export type OtherRuntime = 'deno' | 'bun'
export type Runtime = 'node' | OtherRuntime
export const runtimes: readonly Runtime[] = ['node', 'deno', 'bun']

/**
 * Returns the command that runs a TypeScript program of this repository with this `DATABASE_URL` and `BACKUP_DIR`. The
 * caller appends the program's path and arguments.
 */
export function runtimeCommand(runtime: Runtime, databaseUrl?: string, backupDir?: string): string[] {
  if (runtime === 'node') return [process.execPath, fileURLToPath(new URL('node.js', import.meta.url))]
  return otherRuntimeCommand(runtime, databaseUrl, backupDir)
}
