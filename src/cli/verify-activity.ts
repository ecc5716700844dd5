import { enterAccount } from '../grid/accounts/accounts.ts'
import { CommandError, storeCommand } from './command.ts'
import { table } from './table.ts'

/**
 * Exit code 1 when a row was changed, removed or slipped in. The chain cannot tell that its newest rows were
 * cut off: whoever kept the head of an earlier run sees it by its row.
 */
export const verifyActivityCommand = storeCommand({
  name: 'verify-activity',
  summary: 'Check the chain of the activity log of an account.',
  options: { account: { takes: 'ID', doc: 'the account', required: true } },
  async run(store, args) {
    const account = await enterAccount(store, args.account, { type: 'system', job: 'verify-activity' })
    const { activity } = account.read
    const head = await activity.head()
    const broken = await activity.firstBroken()
    if (broken !== undefined) {
      throw new CommandError(
        'activity_broken',
        `The activity log is broken at row ${broken}: it was changed or moved, or is missing.`,
      )
    }
    return { rows: head?.n ?? 0, head_hash: head?.hash ?? null }
  },
  print: ({ rows, head_hash }) =>
    table([['Rows', rows], ['Head', head_hash ?? 'none yet']]) + '\nThe chain of the activity log holds.',
})
