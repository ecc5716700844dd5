/** This program's version. Builds of the package and the binary replace the names in capitals. */

import process from 'node:process'

declare const AGENT_GRID_COMMIT: string | undefined
declare const AGENT_GRID_BUILD: string | undefined
declare const AGENT_GRID_COMMAND: string | undefined

/** The program's version in all protocols. A test compares it with `package.json`. */
export const version = '1.0.0'

/** The commit that a package or a binary was built from. Undefined in a checkout, where git knows the commit. */
export const commit = typeof AGENT_GRID_COMMIT === 'string' ? AGENT_GRID_COMMIT : undefined

const build = typeof AGENT_GRID_BUILD === 'string' ? AGENT_GRID_BUILD : undefined

/** The version with the commit and a hash of the sources, if known, so that two builds of one version differ. */
export const fullVersion = [version, ...[commit, build].filter((id) => id !== undefined).map((id) => `(${id})`)].join(
  ' ',
)

/**
 * Whether this process is the single binary, whose program has a path in a virtual file system.
 *
 * @see https://bun.sh/docs/bundler/executables
 */
export const isBinary = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i.test(process.argv[1] ?? '')

/** Whether the program is a release's npm package. */
export const isPackage = typeof AGENT_GRID_COMMAND === 'string'

/**
 * The command with which the operator runs this program. For the binary, the name it was called by, such as
 * `./agent-grid`. In a package, a command that runs only installed code.
 */
export const ownCommand = isBinary
  ? /^[\w./-]+$/.test(process.argv0) ? process.argv0 : 'agent-grid'
  : isPackage
  ? AGENT_GRID_COMMAND!
  : 'npm run -s grid --'
