import { openAccount } from '../grid/accounts/accounts.ts'
import { reissueKey } from '../grid/agents/agent-settings.ts'
import { createAgent } from '../grid/agents/agents.ts'
import { parkedMessages, requeueMessages } from '../grid/messaging/parked.ts'
import { resumeConversation, setAutomated, setTurnLimits } from '../grid/messaging/turns.ts'
import { a2aAddress, type McpConfig, mcpConfig, serverName, snippets } from '../clients/snippets.ts'
import { isoTime } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import { storeCommand } from './command.ts'
import { accountOption, agentOption } from './command.ts'
import { accountCommand } from './store-command.ts'
import { printList, table } from './tables.ts'

export const createAgentCommand = accountCommand({
  name: 'create-agent',
  summary: 'Create an agent with its key, and print what to paste into each client.',
  options: {
    alias: {
      placeholder: 'ALIAS',
      description: '3 to 32 characters of a-z, 0-9 and -, unique on the grid',
      required: true,
    },
    type: {
      placeholder: 'TYPE',
      description: 'mcp (default), or a2a (needs --remote-url)',
      oneOf: ['mcp', 'a2a'],
    },
    visibility: {
      placeholder: 'VISIBILITY',
      description: 'private (default), or public: other accounts can find it',
      oneOf: ['private', 'public'],
    },
    'access-policy': {
      placeholder: 'POLICY',
      description:
        'which agents of other accounts may write to the agent: auto_approve (default), allow_list or block_list',
      oneOf: ['auto_approve', 'allow_list', 'block_list'],
    },
    'access-list': { placeholder: 'ALIASES', description: 'aliases on the allow or block list, comma-separated' },
    description: { placeholder: 'TEXT', description: 'what the agent does' },
    'remote-url': { placeholder: 'URL', description: 'URL of an agent of type a2a: its card, endpoint or host' },
    'remote-token': { placeholder: 'TOKEN', description: 'bearer token for the remote agent', env: 'REMOTE_TOKEN' },
    'message-replies': {
      placeholder: '',
      description: 'the agent replies over A2A with messages, not tasks',
      flag: true,
    },
    'callers-wait': {
      placeholder: 'WHEN',
      description: 'whether A2A calls wait for its answer: auto (default: only while it is connected), yes or no',
      oneOf: ['auto', 'yes', 'no'],
    },
  },
  input: (args) => ({
    alias: args.alias,
    type: args.type,
    visibility: args.visibility,
    accessPolicy: args['access-policy'],
    accessList: args['access-list']?.split(',').filter((alias) => alias.trim() !== ''),
    description: args.description,
    remoteUrl: args['remote-url'],
    ...(args['message-replies'] !== undefined && { messageReplies: true }),
    callersWait: args['callers-wait'],
  }),
  change: (account, input, args) => createAgent(account, { ...input, remoteToken: args['remote-token'] }),
  result: describeAgentKey,
  print: printAgentKey,
})

export const newKeyCommand = accountCommand({
  name: 'new-key',
  summary: 'Replace all keys of an agent with a new one. The old ones stop working at once.',
  options: { agent: agentOption },
  input: ({ agent }) => ({ agent }),
  change: (account, { agent }) => reissueKey(account, agent),
  result: describeAgentKey,
  print: printAgentKey,
})

/** An agent key in a command's result. `mcp_config` is the same as in the result of a signup. */
type AgentKey = {
  agent_id: string
  alias: string
  api_key: string
  mcp_config: McpConfig
  /** The URL at which A2A clients call the agent. */
  a2a_url: string
  note?: string
}

function describeAgentKey(
  { agent, apiKey, note }: { agent: { id: string; alias: string }; apiKey: string; note?: string },
  { deps }: AccountStore,
): AgentKey {
  return {
    agent_id: agent.id,
    alias: `@${agent.alias}`,
    api_key: apiKey,
    mcp_config: mcpConfig(deps.config.appUrl, apiKey),
    a2a_url: a2aAddress(deps.config.baseUrl, agent.alias),
    ...(note !== undefined && { note }),
  }
}

function printAgentKey(agent: AgentKey): string {
  const { origin } = new URL(agent.mcp_config.mcpServers[serverName].url)
  return [
    table([['Agent', agent.alias], ['ID', agent.agent_id], ['Key', agent.api_key], ['A2A address', agent.a2a_url]]),
    'The key is not shown again.',
    ...agent.note === undefined ? [] : [agent.note],
    ...snippets({ baseUrl: origin, key: agent.api_key }).map(({ title, where, text }) =>
      `\n${title} (${where}):\n\n${text.replace(/^/gm, '  ')}`
    ),
  ].join('\n')
}

/** Lists parked messages, most recently parked first, at most 100. See docs/delivery.md, "Parked messages". */
export const listParkedMessagesCommand = storeCommand({
  name: 'list-parked-messages',
  summary: 'List the parked messages of an account.',
  options: {
    account: accountOption,
  },
  async run(store, { account: id }) {
    const account = await openAccount(store, id, { type: 'system', job: 'list-parked-messages' })
    return {
      messages: (await parkedMessages(account)).map(({ id, alias, fromAlias, storedAt, parkedAt, returns }) => ({
        message_id: id,
        to: `@${alias}`,
        from: fromAlias === null ? null : `@${fromAlias}`,
        returns,
        stored_at: isoTime(storedAt),
        parked_at: isoTime(parkedAt),
      })),
    }
  },
  print: ({ messages }) =>
    printList(
      ['ID', 'To', 'From', 'Came back', 'Parked'],
      messages.map(({ message_id, to, from, returns, parked_at }) => [
        ...[message_id, to, from ?? 'another account', returns, parked_at],
      ]),
      { empty: 'No message of the account is parked.' },
    ),
})

export const requeueMessagesCommand = accountCommand({
  name: 'requeue-messages',
  summary: 'Make parked messages of an agent unread again.',
  options: {
    agent: agentOption,
    message: {
      placeholder: 'ID',
      description: 'ID from list-parked-messages; default: all (at most 500 at a time)',
    },
  },
  input: ({ agent, message }) => ({ agent, ...(message !== undefined && { messageId: message }) }),
  change: requeueMessages,
  result: ({ alias, requeued, left }) => ({ agent: `@${alias}`, requeued, left }),
  print: ({ agent, requeued, left }) =>
    `${agent} has ${requeued} ${requeued === 1 ? 'message' : 'messages'} to read again.` +
    (left > 0 ? ` ${left} more are parked.` : ''),
})

/** Lists paused conversations, newest first, at most 50. See docs/conversations.md, "Conversations that run away". */
export const listPausedConversationsCommand = storeCommand({
  name: 'list-paused-conversations',
  summary: "List an account's runaway conversations, which are paused.",
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

/** See docs/conversations.md, "Conversations that run away". */
export const resumeConversationCommand = accountCommand({
  name: 'resume-conversation',
  summary: 'Resume a paused conversation.',
  options: { conversation: { placeholder: 'ID', description: 'ID from list-paused-conversations', required: true } },
  input: ({ conversation }) => ({ id: conversation }),
  change: (account, { id }) => resumeConversation(account, id),
  result: ({ key, agents }) => ({
    resumed: true,
    conversation_id: key,
    agents: agents.map((alias) => `@${alias}`),
  }),
  print: ({ agents }) => `The conversation of ${agents.join(', ')} is resumed.`,
})

/** See docs/conversations.md, "Conversations that run away". */
export const setAutomatedCommand = accountCommand({
  name: 'set-automated',
  summary: 'Mark an agent as automated: its conversations are never paused.',
  options: {
    agent: agentOption,
    automated: { placeholder: 'YES', description: 'yes (default) or no', oneOf: ['yes', 'no'] },
  },
  input: ({ agent, automated }) => ({ agent, isAutomated: automated !== 'no' }),
  change: setAutomated,
  result: ({ alias, isAutomated }) => ({ alias: `@${alias}`, automated: isAutomated }),
  print: ({ alias, automated }) => `${alias} is ${automated ? 'marked as' : 'not'} automated.`,
})

/** See docs/conversations.md, "Conversations that run away". */
export const setTurnLimitsCommand = accountCommand({
  name: 'set-turn-limits',
  summary: "Change when an account's runaway conversations are warned and paused.",
  options: {
    warn: { placeholder: 'N', description: 'turns until agents are warned; 0: never' },
    'per-hour': { placeholder: 'N', description: 'turns an hour until a conversation is paused; 0: never' },
    hops: { placeholder: 'N', description: 'answers in a chain until the next is refused; 0: never' },
  },
  input(args) {
    // Text that does not consist of digits is refused.
    const number = (text: string | undefined) =>
      text === undefined ? undefined : /^\d+$/.test(text) ? Number(text) : NaN
    return { warn: number(args.warn), perHour: number(args['per-hour']), hops: number(args.hops) }
  },
  change: setTurnLimits,
  result: ({ warn, perHour, hops }) => ({ warn, per_hour: perHour, hops }),
  print: ({ warn, per_hour, hops }) =>
    `Conversations are warned after ${warn} turns and paused after ${per_hour} turns an hour. Answers are refused after ${hops} hops.`,
})
