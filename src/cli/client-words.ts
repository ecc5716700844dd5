/**
 * Repeats the first words of `client.ts`'s command lines, so that `client.ts` need not be loaded. A test checks them.
 */
export const clientWords: readonly string[] =
  'connect disconnect send read watch reserve reservations run as channel hook health --version -v version'.split(' ')
