/** The single binary, as built by `npm run lab -- binary`. */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The binary's path. Its folder contains no packages. The file exists between `buildBinary` and `removeBinary`. */
export const binaryFile = join(tmpdir(), `agent-grid-binary-${process.pid}`, 'agent-grid')

/** Builds the binary for this platform, in about a second. `options` are the options of `scripts/binary.ts`. */
export async function buildBinary(options: string[] = []): Promise<void> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const words = ['scripts/other-runtime.js', 'bun', 'scripts/binary.ts', '--outfile', binaryFile, ...options]
  await promisify(execFile)(process.execPath, words, { cwd: root })
}

export function removeBinary(): void {
  rmSync(dirname(binaryFile), { recursive: true, force: true })
}
