/** What this program is. The builds of the package and of the binary replace the names in capitals. */

declare const AGENT_GRID_COMMIT: string | undefined
declare const AGENT_GRID_COMMAND: string | undefined

/** The version of the program in all protocols. A test compares it with package.json. */
export const version = '0.1.0'

/** The commit that a package or a binary was built from; undefined in a checkout, which git knows. */
export const commit = typeof AGENT_GRID_COMMIT === 'string' ? AGENT_GRID_COMMIT : undefined

/**
 * How the operator calls this program. In a package it is a command that never fetches one: the name on npm may belong to
 * somebody else.
 */
export const ownCommand = typeof AGENT_GRID_COMMAND === 'string' ? AGENT_GRID_COMMAND : 'npm run -s grid --'
