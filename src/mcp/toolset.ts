/** The tools, resources and prompts available to a caller's credential. */
import type { AgentActor } from '../auth/actor.ts'
import { signUp } from '../grid/accounts/signup.ts'
import type { GridError } from '../errors.ts'
import { recordActivity, recordRefusal } from '../grid/activity.ts'
import { inListSlot } from '../answers/room.ts'
import { unreadText } from '../grid/messaging/inbox-message.ts'
import type { Lease } from '../grid/messaging/read-messages.ts'
import { type InboxEvent, watchInbox } from '../grid/messaging/wait-for-messages.ts'
import type { CallTrace } from '../call-trace.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { parse, signupInput } from '../lib/input.ts'
import { jsonLine } from '../lib/redact.ts'
import { second } from '../lib/time.ts'
import { adminReadTools } from './admin-read-tools.ts'
import { adminWriteTools } from './admin-write-tools.ts'
import { agentTools, textsOfOthers } from './agent-tools.ts'
import { type ListedPrompt, listedPrompts, type PromptResult, readPrompt } from './prompts.ts'
import { type ListedResource, listedResources, readResource } from './resources.ts'
import {
  type CatalogTool,
  type ListedTool,
  type LiveCaller,
  readToolArguments,
  tool,
  type ToolCall,
  type ToolCatalog,
  toolCatalog,
  type ToolOutcome,
  type ToolOutput,
} from './tool.ts'
import type { AccountStore } from '../store/account.ts'
import type { ActiveApprovalRule } from '../store/account/approval-rules.ts'
import type { Store } from '../store/store.ts'
import { type Hints, toolError } from '../wire.ts'

export interface Toolset {
  /** Instructions for the model, sent when its client connects. */
  instructions(): Promise<string>
  readonly tools: readonly ListedTool[]
  /** Calls a tool. Undefined if the caller has no such tool. If `refused` is given, the call fails with it. */
  call(name: string, args: unknown, maxWaitSeconds: number, refused?: GridError): Promise<ToolOutcome> | undefined
  /** Explains why the caller has no tool of this name, and what to do. */
  whyUnknown(name: string): string
  /** Records a call that was refused before its tool ran. Undefined if the caller's calls are not recorded. */
  recordRefusal?(params: unknown): Promise<void>
  /** Callers without an inbox, resources or prompts lack these members, and the capabilities are not announced. */
  readonly inbox?: WatchableInbox
  readonly resources?: {
    readonly listed: readonly ListedResource[]
    /** Returns the resource as JSON. Undefined if it does not exist. Fails with a `GridError`. */
    read(uri: string): Promise<string> | undefined
  }
  readonly prompts?: {
    readonly listed: readonly ListedPrompt[]
    /** Returns a prompt. Fails with `invalid_input`, even for an unknown prompt. */
    get(name: string, args: unknown): Promise<PromptResult>
  }
}

export interface WatchableInbox {
  /**
   * Returns the inbox's events until the caller disconnects. Undefined if the credential has reached its stream limit.
   */
  watch(): AsyncGenerator<InboxEvent> | undefined
  readonly connection: CallerConnection
}

export const heartbeatMs = 20 * second

/** A caller without a credential. */
interface SignupCaller {
  store: Store
  /** The client's address, for the signup limit. */
  address: string
}

/** The signup toolset, for agents without a key. See docs/protocol/signup.md, "Over MCP". */
export const signupTool = tool({
  name: 'signup',
  description: 'Register an agent on the grid. The result holds its key, shown once, and a ready MCP configuration.',
  annotations: { destructiveHint: false },
  input: signupInput,
  async run({ store, address }: SignupCaller, input) {
    return { text: { ...(await signUp(store, { ...input, ownerEmail: input.owner_email }, address)) } }
  },
})

const agentCatalog = toolCatalog(agentTools, {
  recipient_not_found: 'Use list_agents to see the agents you can write to.',
  agent_not_found: 'Use list_agents to see the agents.',
  channel_not_found: 'Use list_channels to see your channels.',
})
const adminCatalog = toolCatalog([...adminReadTools, ...adminWriteTools], {
  agent_not_found: 'Nothing was changed. Use admin_list_agents to see the agents.',
  channel_not_found: 'Nothing was changed. Use admin_list_channels to see the channels.',
  guardrail_not_found: 'Nothing was changed. Use admin_list_guardrails to see the guardrails.',
})
const signupCatalog = toolCatalog([signupTool])

/** The kinds of callers, with the texts for `whyUnknown`. */
const callerKinds: { catalog: ToolCatalog<never>; of: string; has: string; advice: string }[] = [
  {
    catalog: agentCatalog,
    of: 'agents',
    has: 'this is the credential of an agent',
    advice: 'Call it with the key of an agent.',
  },
  { catalog: adminCatalog, of: 'admins', has: 'this is an admin credential', advice: 'Call it with an admin key.' },
  {
    catalog: signupCatalog,
    of: 'the signup endpoint',
    has: 'this endpoint only registers agents',
    advice: 'Call it at /mcp/v1/signup.',
  },
]

const agentInstructions =
  `A grid where agents write to each other. Read messages with read_messages, answer with send_message to their reply_to, find others with list_agents. ${textsOfOthers}`
const adminInstructions =
  'Administration of one account of the grid: agents, channels, skills and guardrails. Agents are named by id or alias, channels by id or name. Every call is recorded.'
const signupInstructions = 'Register an agent with signup. The result holds its key and a ready configuration.'

export function accountToolset(account: AccountStore, trace: CallTrace, caller?: LiveCaller): Toolset {
  return isAgentAccount(account) ? agentToolset(account, trace, caller) : adminToolset(account, trace, caller)
}

function isAgentAccount(account: AccountStore): account is AccountStore<AgentActor> {
  return account.actor.type === 'agent'
}

function agentToolset(account: AccountStore<AgentActor>, trace: CallTrace, caller?: LiveCaller): Toolset {
  return {
    async instructions() {
      const { agentId, alias } = account.actor
      const { inbox, profile, approvalRules } = account.read
      const [unread, since, rules] = await Promise.all([
        inbox.unread(agentId),
        profile.peopleReadSince(),
        approvalRules.active(),
      ])
      const readers = readersSentence(since) + approvalSentence(rules, agentId)
      return `You are @${alias}. ${unreadSentence(unread)} ${readers}${agentInstructions}`
    },
    ...bindTools(
      agentCatalog,
      trace,
      (entry, args, maxWaitSeconds) => {
        if (!entry.tool.onlyWaits?.(Object(args))) account.waiting.presence.calls(account.actor.agentId)
        return runAccountTool(entry, account, args, { maxWaitSeconds, caller })
      },
    ),
    inbox: caller && {
      watch: () => watchInbox(account, { caller: caller.connection, check: caller.check, heartbeatMs }),
      connection: caller.connection,
    },
    resources: {
      listed: listedResources,
      read: (uri) => readResource(account, uri, trace, caller?.connection),
    },
    prompts: {
      listed: listedPrompts,
      async get(name, args) {
        const { agentId, alias } = account.actor
        const unread = unreadSentence(await account.read.inbox.unread(agentId))
        return readPrompt(name, args ?? {}, { alias, unread })
      },
    },
  }
}

function unreadSentence(unread: number): string {
  if (unread === 0) return 'You have no unread messages.'
  if (unread === 1) return 'You have 1 unread message.'
  return `You have ${unreadText(unread)} unread messages.`
}

/** Returns a sentence about who can read what agents write. `since` is null if people cannot. */
function readersSentence(since: number | null): string {
  return since === null ? '' : 'Owners and admins of your account can read what you write. '
}

/** Returns a sentence for agents whose messages approval rules can hold. */
function approvalSentence(rules: readonly ActiveApprovalRule[], agentId: string): string {
  const isConcerned = rules.some(({ fromKind, fromId, toKind, toId }) =>
    fromKind === 'any' || toKind === 'any' || fromId === agentId || toId === agentId
  )
  return isConcerned ? 'Some messages from or to you are held until a person approves them. ' : ''
}

/** Creates an admin's toolset. The activity log records every call, even one refused before its tool ran. */
function adminToolset(account: AccountStore, trace: CallTrace, caller?: LiveCaller): Toolset {
  const { requestId } = trace
  return {
    instructions: () => Promise.resolve(adminInstructions),
    ...bindTools(adminCatalog, trace, (entry, args) => {
      const call = { tool: entry.tool.name, arguments: args, requestId }
      return recordActivity(
        account,
        call,
        (recording) => runAccountTool(entry, recording, args, { maxWaitSeconds: 0, caller }),
      )
    }),
    recordRefusal: (params) =>
      recordRefusal(account, { tool: 'tools/call', arguments: params, requestId }, 'invalid_request'),
  }
}

export function signupToolset(caller: SignupCaller, trace: CallTrace): Toolset {
  return {
    instructions: () => Promise.resolve(signupInstructions),
    ...bindTools(signupCatalog, trace, (entry, args) => runTool(entry, caller, args)),
  }
}

function bindTools<Caller>(
  catalog: ToolCatalog<Caller>,
  trace: CallTrace,
  run: (entry: CatalogTool<Caller>, args: unknown, maxWaitSeconds: number) => Promise<ToolOutput>,
): Pick<Toolset, 'tools' | 'call' | 'whyUnknown'> {
  return {
    tools: catalog.listed,
    whyUnknown: (name) => {
      const owner = callerKinds.find((kind) => kind.catalog.byName.has(name))
      const caller = callerKinds.find((kind) => kind.catalog === catalog)
      if (!owner || !caller) return `The tools are ${catalog.listed.map((tool) => tool.name).join(', ')}.`
      return `It is a tool of ${owner.of}, and ${caller.has}. ${owner.advice}`
    },
    call(name, args, maxWaitSeconds, refused) {
      const known = catalog.byName.get(name)
      if (!known) return undefined
      trace.tool = name
      const entry = refused ? { ...known, tool: { ...known.tool, run: () => Promise.reject(refused) } } : known
      return toolOutcome(run(entry, args, maxWaitSeconds), catalog.hints, trace)
    },
  }
}

/** Runs a tool. If it returns a list, it occupies a list slot. */
function runAccountTool<Account extends AccountStore>(
  entry: CatalogTool<Account>,
  account: Account,
  args: unknown,
  call: ToolCall,
): Promise<ToolOutput> {
  const run = () => runTool(entry, account, args, call)
  const { listBytes } = entry.tool
  return listBytes === undefined ? run() : inListSlot(account, call.caller?.connection, listBytes, run)
}

/** Validates the arguments and runs the tool. Fails with `invalid_input`, or like the tool. */
async function runTool<Caller>(
  entry: CatalogTool<Caller>,
  caller: Caller,
  args: unknown,
  call: ToolCall = { maxWaitSeconds: 0 },
): Promise<ToolOutput> {
  const { args: read, remarks } = readToolArguments(entry, args)
  const output = await entry.tool.run(caller, parse(entry.tool.input, read), call)
  return { ...output, text: { ...output.text, ...remarks } }
}

/**
 * Converts a `GridError` to a result with `isError`, so that a model can react. Other errors are logged, and their
 * details are hidden from clients.
 */
async function toolOutcome(
  run: Promise<ToolOutput>,
  hints: Hints,
  trace: CallTrace,
): Promise<ToolOutcome> {
  let lease: Lease | undefined
  try {
    const output = await run
    lease = output.lease
    return { result: { content: [textPart(jsonLine(output.text))] }, lease }
  } catch (error) {
    await lease?.release()
    return { result: { content: [textPart(toolError(trace.refusal(error), hints))], isError: true } }
  }
}

function textPart(text: string): { type: 'text'; text: string } {
  return { type: 'text', text }
}
