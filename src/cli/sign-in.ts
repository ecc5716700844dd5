import { resetSecondFactor } from '../grid/people/second-factor.ts'
import { createLinkFor } from '../grid/people/operator.ts'
import { storeCommand } from './command.ts'
import { emailOption } from './on-account.ts'

/** For a user who cannot sign in. See docs/operations.md, "People and the set-up link". */
export const createLinkCommand = storeCommand({
  name: 'create-link',
  summary: 'Print a link that signs a user in, or lets them choose a password. It works once, within 24 hours.',
  options: {
    email: emailOption,
    kind: {
      placeholder: 'KIND',
      description: 'sign_in (default), or password: the user chooses a password, which ends all other sessions',
      oneOf: ['sign_in', 'password'],
    },
  },
  async run(store, { email, kind }) {
    const { userId, url } = await createLinkFor(store, email, kind === 'password' ? 'reset' : 'sign_in', 'create-link')
    return { user_id: userId, url }
  },
  print: ({ url }) => url,
})

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
