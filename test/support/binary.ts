/** The single binary, as `npm run lab -- binary` builds it. */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Its path, in a folder of its own without packages. It is there between `buildBinary` and `removeBinary`. */
export const binaryFile = join(tmpdir(), `agent-grid-binary-${process.pid}`, 'agent-grid')

/** Build it for this platform, in about a second. `options` are those of `scripts/binary.ts`. */
export async function buildBinary(options: string[] = []): Promise<void> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const words = ['scripts/other-runtime.js', 'bun', 'scripts/binary.ts', '--outfile', binaryFile, ...options]
  await promisify(execFile)(process.execPath, words, { cwd: root })
}

export function removeBinary(): void {
  rmSync(dirname(binaryFile), { recursive: true, force: true })
}
