/**
 * Once before all tests: the program in one file, with the packages beside it as ever. Node starts it in a third of
 * the time that it takes to compile each file anew. Tests find it through `startBuilt`.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { runtimeBinary } from '../../scripts/runtime.ts'

/** Among the modules, since from there the packages are found. */
const folder = fileURLToPath(new URL(`../../node_modules/.agent-grid-${process.pid}`, import.meta.url))

export function setup(): void {
  const words = ['build', 'src/main.ts', '--target=node', '--packages=external', `--outdir=${folder}`]
  execFileSync(runtimeBinary('bun'), words, { cwd: fileURLToPath(new URL('../..', import.meta.url)), stdio: 'pipe' })
  process.env.BUILT_PROGRAM = `${folder}/main.js`
}

export function teardown(): void {
  rmSync(folder, { recursive: true, force: true })
}
