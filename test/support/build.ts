/**
 * Once before all tests: programs in one file each, with the packages beside them as ever. Node starts them in a third
 * of the time that it takes to compile each file anew. Tests find them through `startBuilt` and `startProgram`.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { runtimeBinary } from '../../scripts/runtime.ts'

const programs = ['src/main.ts', 'test/support/dying-server.ts']
/** Among the modules, since from there the packages are found. */
const folder = fileURLToPath(new URL(`../../node_modules/.agent-grid-${process.pid}`, import.meta.url))

export function setup(): void {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const words = ['build', ...programs, '--target=node', '--packages=external', `--root=${root}`, `--outdir=${folder}`]
  execFileSync(runtimeBinary('bun'), words, { cwd: root, stdio: 'pipe' })
  process.env.BUILT_PROGRAMS = folder
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true })
}
