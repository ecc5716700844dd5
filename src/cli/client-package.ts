/** The package with the client commands. A grid serves it. See docs/operating/install.md, "npm package". */
import { readFile } from 'node:fs/promises'
import { once } from '../lib/lazy.ts'

/** The build writes the package next to the program. Without a build there is no package. */
function packageUrl(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  return new URL(isSource ? '../../dist/src/agent-grid.tgz' : './agent-grid.tgz', import.meta.url)
}

/** Resolves to the package, or to undefined if it was not built. */
export const readClientPackage = once(() => readFile(packageUrl()).catch(() => undefined))
