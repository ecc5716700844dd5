/** The package with the client commands, which a grid serves. See docs/operating/install.md, "npm package". */
import { readFile } from 'node:fs/promises'
import { once } from '../lib/lazy.ts'

/** The build writes it next to the program. A grid that runs from sources has it if it was built. */
function packageUrl(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  return new URL(isSource ? '../../dist/src/agent-grid.tgz' : './agent-grid.tgz', import.meta.url)
}

/** Resolves to the archive; to undefined if there is none. */
export const readClientPackage = once(() => readFile(packageUrl()).catch(() => undefined))
