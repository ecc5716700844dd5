import { resetSecondFactor } from '../grid/people/second-factor.ts'
import { storeCommand } from './command.ts'
import { emailOption } from './options.ts'

/** For a user who has lost it. See docs/security.md, "Lost second factor". */
export const resetSecondFactorCommand = storeCommand({
  name: 'reset-second-factor',
  summary: 'Remove the passkeys, authenticator app and recovery codes of a user, and end their sessions.',
  options: {
    email: emailOption,
  },
  async run(store, { email }) {
    const { userId } = await resetSecondFactor(store, email, 'reset-second-factor')
    return { reset: true, user_id: userId }
  },
  print: ({ user_id }) =>
    `The user ${user_id} has no second factor now, and is signed out. The activity log of each account shows this.`,
})
