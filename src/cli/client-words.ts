/**
 * The first words of the command lines that `client.ts` runs, without loading it. A test compares them with its
 * commands.
 */
export const clientWords: readonly string[] =
  'connect disconnect send read watch reserve reservations run as channel hook health --version -v version'.split(' ')
