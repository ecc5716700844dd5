import { setTurnLimits } from '../grid/messaging/turns.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'

/** See docs/delivery.md, "Conversations that run away". */
export const setTurnLimitsCommand = storeCommand({
  name: 'set-turn-limits',
  summary: 'Change when conversations of an account that run away are told and paused.',
  options: {
    account: accountOption,
    warn: { placeholder: 'N', description: 'turns until agents are told; 0: never' },
    'per-hour': { placeholder: 'N', description: 'turns an hour until a conversation is paused; 0: never' },
    hops: { placeholder: 'N', description: 'answers in a chain until the next is refused; 0: never' },
  },
  async run(store, args) {
    // Anything but digits is not a number, which the limits refuse.
    const number = (text: string | undefined) =>
      text === undefined ? undefined : /^\d+$/.test(text) ? Number(text) : NaN
    const input = { warn: number(args.warn), perHour: number(args['per-hour']), hops: number(args.hops) }
    const limits = await changeAccount(
      store,
      'set-turn-limits',
      { account: args.account, ...input },
      (account) => setTurnLimits(account, input),
    )
    return { warn: limits.warn, per_hour: limits.perHour, hops: limits.hops }
  },
  print: ({ warn, per_hour, hops }) =>
    `Told after ${warn} turns, paused after ${per_hour} an hour; refused after ${hops} hops.`,
})
