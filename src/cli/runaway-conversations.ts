import { openAccount } from '../grid/accounts/accounts.ts'
import { resumeConversation, setAutomated, setTurnLimits } from '../grid/messaging/turns.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { printList } from './tables.ts'
import { accountOption, agentOption, changeAccount } from './on-account.ts'

/** The newest first, at most 50. See docs/delivery.md, "Conversations that run away". */
export const listPausedConversationsCommand = storeCommand({
  name: 'list-paused-conversations',
  summary: 'List the conversations of an account that ran away and are paused.',
  options: {
    account: accountOption,
  },
  async run(store, { account: id }) {
    const account = await openAccount(store, id, { type: 'system', job: 'list-paused-conversations' })
    return {
      conversations: (await account.read.turns.paused()).map((paused) => ({
        conversation_id: paused.key,
        agents: paused.agents.map((alias) => `@${alias}`),
        turns: paused.turns,
        paused_at: isoTime(paused.pausedAt),
      })),
    }
  },
  print: ({ conversations }) =>
    printList(
      ['ID', 'Agents', 'Count', 'Paused'],
      conversations.map((paused) => [
        paused.conversation_id,
        paused.agents.join(' '),
        paused.turns,
        paused.paused_at,
      ]),
      { empty: 'No conversation of the account is paused.' },
    ),
})

/** See docs/delivery.md, "Conversations that run away". */
export const resumeConversationCommand = storeCommand({
  name: 'resume-conversation',
  summary: 'Let a paused conversation go on.',
  options: {
    account: accountOption,
    conversation: { placeholder: 'ID', description: 'ID from list-paused-conversations', required: true },
  },
  async run(store, args) {
    const { key, agents } = await changeAccount(
      store,
      'resume-conversation',
      { account: args.account, id: args.conversation },
      (account) => resumeConversation(account, args.conversation),
    )
    return { resumed: true, conversation_id: key, agents: agents.map((alias) => `@${alias}`) }
  },
  print: ({ agents }) => `The conversation of ${agents.join(', ')} goes on.`,
})

/** See docs/delivery.md, "Conversations that run away". */
export const setAutomatedCommand = storeCommand({
  name: 'set-automated',
  summary: 'Mark an agent as automated: its conversations are never paused.',
  options: {
    account: accountOption,
    agent: agentOption,
    automated: { placeholder: 'YES', description: 'yes (default) or no', oneOf: ['yes', 'no'] },
  },
  async run(store, args) {
    const input = { agent: args.agent, isAutomated: args.automated !== 'no' }
    const { alias, isAutomated } = await changeAccount(
      store,
      'set-automated',
      { account: args.account, ...input },
      (account) => setAutomated(account, input),
    )
    return { alias: `@${alias}`, automated: isAutomated }
  },
  print: ({ alias, automated }) => `${alias} is ${automated ? 'marked as' : 'not'} automated.`,
})

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
