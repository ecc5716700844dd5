/** A copy of the tree, in which faults can be made. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { Fault } from './faults.ts'

/** What tests read. Packages are found in the folders around the copy. */
const copied = ['db', 'docs', 'scripts', 'src', 'test', 'README.md', 'deno.json', 'package.json']
/** A test that hangs for so long has noticed the fault. */
export const maxMs = 300_000

/** How the tests of a fault ended. `killed at load`: a test file could not begin. */
export type Outcome = 'killed' | 'killed at load' | 'killed by time' | 'survived'

/** How often a text occurs in another. */
export function occurrences(content: string, text: string): number {
  return content.split(text).length - 1
}

export class MutantTree {
  readonly folder: string

  /** Copies the tree of the working directory, to a folder in `data/`. */
  constructor() {
    mkdirSync('data', { recursive: true })
    this.folder = mkdtempSync(join('data', 'mutants-'))
    for (const name of copied) if (existsSync(name)) cpSync(name, join(this.folder, name), { recursive: true })
  }

  /** Run these test files with a fault. Fails if its text does not occur exactly once. */
  tryFault({ file, text, replacement }: Fault, killers: string[]): Outcome {
    const path = join(this.folder, file)
    const content = readFileSync(path, 'utf8')
    if (occurrences(content, text) !== 1) throw new Error(`${file} has this text not exactly once: ${text}`)
    writeFileSync(path, content.replace(text, () => replacement))
    try {
      return this.run(killers)
    } finally {
      writeFileSync(path, content)
    }
  }

  /** Run test files as the tree is. */
  run(files: string[], timeout = maxMs): Outcome {
    const vitest = join(process.cwd(), 'node_modules/vitest/vitest.mjs')
    const args = ['run', '--config', 'test/vitest.config.ts', '--bail', '1', '--reporter', 'json', ...files]
    // Only what a fault changed is compiled again.
    const cache = ['--experimental.fsModuleCache', '--experimental.fsModuleCachePath', 'compiled']
    const { status, stdout, error } = spawnSync(process.execPath, [vitest, ...args, ...cache], {
      cwd: this.folder,
      encoding: 'utf8',
      timeout,
      maxBuffer: 1 << 28,
    })
    if (error) return 'killed by time'
    if (status === 0) return 'survived'
    return /"numFailedTests":[1-9]/.test(stdout) ? 'killed' : 'killed at load'
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
