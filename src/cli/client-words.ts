/** The first words of the command lines that `client.ts` runs, without loading it. A test compares them with its commands. */
export const clientWords: readonly string[] = ['health', 'hook', 'run', 'channel', '--version', '-v', 'version']
