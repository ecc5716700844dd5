import { openAccount } from '../grid/accounts/accounts.ts'
import { CommandError, storeCommand } from './command.ts'
import { accountOption } from './options.ts'
import { table } from './table.ts'

/**
 * Exit code 1 if a row was changed, removed or inserted. The chain cannot show that its newest rows were cut off; for
 * that, compare it with the head that an earlier run printed.
 */
export const verifyActivityCommand = storeCommand({
  name: 'verify-activity',
  summary: 'Verify the hash chain of the activity log of an account.',
  options: { account: accountOption },
  async run(store, args) {
    const account = await openAccount(store, args.account, { type: 'system', job: 'verify-activity' })
    const { activity } = account.read
    const head = await activity.head()
    const broken = await activity.firstBroken()
    if (broken !== undefined) {
      throw new CommandError(
        'activity_broken',
        `The activity log is broken at row ${broken}: the row was changed or moved, or is missing.`,
      )
    }
    return { rows: head?.n ?? 0, head_hash: head?.hash ?? null }
  },
  print: ({ rows, head_hash }) =>
    table([['Rows', rows], ['Head', head_hash ?? 'none yet']]) + '\nThe hash chain of the activity log is intact.',
})
