/**
 * The first words of the command lines that `client.ts` handles, without loading `client.ts`. A test compares the two.
 */
export const clientWords: readonly string[] =
  'connect disconnect send read watch reserve reservations run as channel hook health --version -v version'.split(' ')
