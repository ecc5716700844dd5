/** The calls of the isolation test of verbs. See `isolation-matrix.ts`. */
import { callingAgent } from '../../src/auth/actor.ts'
import { deleteAdminKey } from '../../src/grid/accounts/accounts.ts'
import { addKey, reissueKey, revokeKey } from '../../src/grid/agents/agent-keys.ts'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { listAgents } from '../../src/grid/agents/list-agents.ts'
import { deleteSkill, listSkills, updateSkill } from '../../src/grid/agents/skills.ts'
import { snooze } from '../../src/grid/attention/attention.ts'
import { changeChannelMembers, createChannel, updateChannel } from '../../src/grid/channels/channels.ts'
import { findListedPart } from '../../src/grid/conversations/message-parts.ts'
import { findMessage } from '../../src/grid/conversations/messages.ts'
import { markRead, markUnread } from '../../src/grid/conversations/my-inbox.ts'
import { talkOfAgent } from '../../src/grid/conversations/of-agent.ts'
import { openChain, openMessage, openPart } from '../../src/grid/conversations/open-message.ts'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { replyToMessage, writeMessage } from '../../src/grid/conversations/write.ts'
import { allowText, countCases, disallowText, listCases, listExceptions } from '../../src/grid/guardrails/cases.ts'
import { deleteGuardrail, updateGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { showGuardrail } from '../../src/grid/guardrails/list-guardrails.ts'
import { tryGuardrail } from '../../src/grid/guardrails/try-guardrail.ts'
import { messageStatus } from '../../src/grid/messaging/message-status.ts'
import { requeueMessages } from '../../src/grid/messaging/parked.ts'
import { findPart, readPart } from '../../src/grid/messaging/parts.ts'
import { resumeConversation, setAutomated } from '../../src/grid/messaging/pauses.ts'
import { readMessage } from '../../src/grid/messaging/read-again.ts'
import { resolve } from '../../src/grid/messaging/resolve.ts'
import {
  ackAgain,
  ackMessages,
  extendLease,
  leaseMessages,
  releaseMessages,
  requireHeld,
} from '../../src/grid/messaging/timed-leases.ts'
import { listGrantsOfAgent, revokeGrant } from '../../src/grid/oauth/grants.ts'
import { continueTask, startTask } from '../../src/grid/tasks/start-task.ts'
import { cancelTask, getTask, listTasks, showTask } from '../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { waitForTask, watchTask } from '../../src/grid/tasks/watch-task.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { sendMessage } from './messaging.ts'

/** A call of a verb that names something of another account. */
export interface Probe {
  /** The verb, and after a space a description of the call. */
  name: string
  /** The caller: an agent of the account, its admin, or a person with an alias in it. */
  as: 'agent' | 'admin' | 'person'
  /** What the parameter names. */
  takes: NamedKind
  call(account: AccountStore, value: string): Promise<unknown>
}

export type NamedKind =
  | 'agent'
  | 'channel'
  | 'message'
  | 'credential'
  | 'grant'
  | 'skill'
  | 'guardrail'
  | 'conversation'
  | 'lease'
  | 'task'

export const probes: Probe[] = [
  { name: 'sendMessage', as: 'agent', takes: 'agent', call: (account, to) => sendMessage(account, { to, text: 'hi' }) },
  {
    name: 'sendMessage to a channel',
    as: 'agent',
    takes: 'channel',
    call: (account, name) => sendMessage(account, { to: `#${name}`, text: 'hi' }),
  },
  {
    name: 'sendMessage in reply',
    as: 'agent',
    takes: 'message',
    call: (account, id) => sendMessage(account, { to: 'mallory', text: 'hi', replyToMessageId: id }),
  },
  {
    name: 'sendMessage in reply, in a conversation',
    as: 'agent',
    takes: 'message',
    call: (account, id) =>
      sendMessage(account, { to: 'mallory', text: 'hi', replyToMessageId: id, conversationId: 'c' }),
  },
  {
    name: 'sendMessage that acks',
    as: 'agent',
    takes: 'lease',
    call: (account, leaseId) => sendMessage(account, { to: 'mallory', text: 'hi', acks: { leaseId } }),
  },
  {
    name: 'leaseMessages',
    as: 'agent',
    takes: 'message',
    call: (account, id) => leaseMessages(account, { messageIds: [id] }),
  },
  { name: 'extendLease', as: 'agent', takes: 'lease', call: (account, id) => extendLease(account, id, 60) },
  { name: 'ackMessages', as: 'agent', takes: 'lease', call: (account, leaseId) => ackMessages(account, { leaseId }) },
  { name: 'ackAgain', as: 'agent', takes: 'lease', call: (account, leaseId) => ackAgain(account, { leaseId }) },
  {
    name: 'releaseMessages',
    as: 'agent',
    takes: 'lease',
    call: (account, leaseId) => releaseMessages(account, { leaseId }),
  },
  { name: 'requireHeld', as: 'agent', takes: 'lease', call: (account, leaseId) => requireHeld(account, { leaseId }) },
  {
    name: 'requeueMessages',
    as: 'admin',
    takes: 'agent',
    call: (account, agent) => requeueMessages(account, { agent }),
  },
  {
    name: 'requeueMessages of one',
    as: 'admin',
    takes: 'message',
    call: (account, messageId) => requeueMessages(account, { agent: 'eve', messageId }),
  },
  {
    name: 'resolve',
    as: 'agent',
    takes: 'agent',
    call: (account, to) => resolve(account, callingAgent(account.actor), to),
  },
  {
    name: 'writeMessage',
    as: 'person',
    takes: 'agent',
    call: (account, to) => writeMessage(account, { to, text: 'hi' }),
  },
  {
    name: 'writeMessage to a channel',
    as: 'person',
    takes: 'channel',
    call: (account, name) => writeMessage(account, { to: `#${name}`, text: 'hi' }),
  },
  {
    name: 'replyToMessage',
    as: 'person',
    takes: 'message',
    call: (account, messageId) => replyToMessage(account, { messageId, text: 'hi' }),
  },
  { name: 'markRead', as: 'person', takes: 'message', call: (account, id) => markRead(account, [id]) },
  { name: 'markUnread', as: 'person', takes: 'message', call: (account, id) => markUnread(account, [id]) },
  {
    name: 'talkOfAgent',
    as: 'person',
    takes: 'agent',
    call: (account, id) => talkOfAgent(account, { id, alias: 'bob' }, { requestId: null }),
  },
  {
    name: 'openMessage',
    as: 'person',
    takes: 'message',
    call: (account, id) => openMessage(account, id, { requestId: null }),
  },
  {
    name: 'openChain',
    as: 'person',
    takes: 'message',
    call: (account, id) => openChain(account, id, { requestId: null }),
  },
  { name: 'openPart', as: 'person', takes: 'message', call: (account, id) => openPart(account, id, 'details', null) },
  {
    name: 'findListedPart',
    as: 'admin',
    takes: 'message',
    call: (account, id) => findListedPart(account, { id, agentId: id, isSent: false }, 'details'),
  },
  {
    name: 'snooze',
    as: 'person',
    takes: 'agent',
    call: (account, subject) => snooze(account, undefined, { kind: 'unread', subject, time: 'week' }),
  },
  {
    name: 'snooze a paused conversation',
    as: 'person',
    takes: 'conversation',
    call: (account, subject) => snooze(account, undefined, { kind: 'paused', subject, time: 'week' }),
  },
  { name: 'getTask', as: 'agent', takes: 'task', call: (account, id) => getTask(account, id) },
  {
    name: 'listTasks',
    as: 'agent',
    takes: 'agent',
    call: (account, recipient) => listTasks(account, { recipient, pageSize: 10 }),
  },
  {
    name: 'showTask as its client',
    as: 'agent',
    takes: 'task',
    call: (account, id) => showTask(account, id, 'client'),
  },
  {
    name: 'showTask as its recipient',
    as: 'agent',
    takes: 'task',
    call: (account, id) => showTask(account, id, 'recipient'),
  },
  { name: 'cancelTask', as: 'agent', takes: 'task', call: (account, id) => cancelTask(account, id) },
  {
    name: 'continueTask',
    as: 'agent',
    takes: 'task',
    call: (account, taskId) =>
      continueTask(account, callingAgent(account.actor), {
        taskId,
        message: { messageId: 'm', parts: [{ text: 'hi' }] },
      }),
  },
  {
    name: 'startTask',
    as: 'agent',
    takes: 'agent',
    call: (account, to) =>
      startTask(account, callingAgent(account.actor), {
        ...{ to, mode: 'task', contextId: 'a context of acme' },
        message: { messageId: 'm', parts: [{ text: 'hi' }] },
      }),
  },
  {
    name: 'waitForTask',
    as: 'agent',
    takes: 'task',
    call: (account, id) => waitForTask(account, id, { ms: 0, strict: false }),
  },
  {
    name: 'watchTask',
    as: 'agent',
    takes: 'task',
    call: (account, id) => watchTask(account, id, { after: 0, endsWhenInterrupted: true, heartbeatMs: 1 }).next(),
  },
  {
    name: 'updateTask',
    as: 'agent',
    takes: 'task',
    call: (account, taskId) => updateTask(account, { taskId, text: 'x' }),
  },
  {
    name: 'updateTask of a message',
    as: 'agent',
    takes: 'message',
    call: (account, messageId) => updateTask(account, { messageId, text: 'x' }),
  },
  { name: 'messageStatus', as: 'agent', takes: 'message', call: messageStatus },
  { name: 'readMessage', as: 'agent', takes: 'message', call: (account, id) => readMessage(account, id) },
  { name: 'findPart', as: 'agent', takes: 'message', call: (account, id) => findPart(account, `${id}.0`) },
  { name: 'readPart', as: 'agent', takes: 'message', call: (account, id) => readPart(account, `${id}.details`) },
  { name: 'listSkills', as: 'agent', takes: 'agent', call: (account, agent) => listSkills(account, { agent }) },
  { name: 'listAgents', as: 'agent', takes: 'agent', call: (account, search) => listAgents(account, { search }) },
  {
    name: 'listAgents of others',
    as: 'agent',
    takes: 'agent',
    call: (account, search) => listAgents(account, { search, public: true }),
  },
  {
    name: 'createChannel with one foreign member among ten',
    as: 'admin',
    takes: 'agent',
    call: (account, member) => {
      const own = Array.from({ length: 9 }, (_, n) => `own-${n}`)
      return createChannel(account, { name: 'ten', members: [...own.slice(0, 5), member, ...own.slice(5)] })
    },
  },
  {
    name: 'changeChannelMembers',
    as: 'admin',
    takes: 'channel',
    call: (account, channel) => changeChannelMembers(account, { channel, add: ['own-1'] }),
  },
  {
    name: 'changeChannelMembers with one foreign member among two',
    as: 'admin',
    takes: 'agent',
    call: (account, member) => changeChannelMembers(account, { channel: 'home', add: ['own-1', member] }),
  },
  {
    name: 'changeChannelMembers without a foreign member',
    as: 'admin',
    takes: 'agent',
    call: (account, member) => changeChannelMembers(account, { channel: 'home', remove: [member] }),
  },
  {
    name: 'updateChannel',
    as: 'admin',
    takes: 'channel',
    call: (account, channel) => updateChannel(account, { channel, description: 'mine' }),
  },
  {
    name: 'updateSkill',
    as: 'admin',
    takes: 'skill',
    call: (account, id) => updateSkill(account, id, { name: 'mine' }),
  },
  { name: 'deleteSkill', as: 'admin', takes: 'skill', call: deleteSkill },
  {
    name: 'updateGuardrail',
    as: 'admin',
    takes: 'guardrail',
    call: (account, id) => updateGuardrail(account, id, { name: 'mine', config: {}, enabled: false }),
  },
  { name: 'deleteGuardrail', as: 'admin', takes: 'guardrail', call: deleteGuardrail },
  { name: 'listCases', as: 'admin', takes: 'guardrail', call: (account, id) => listCases(account, id) },
  { name: 'countCases', as: 'admin', takes: 'guardrail', call: (account, id) => countCases(account, id, { from: 0 }) },
  { name: 'listExceptions', as: 'admin', takes: 'guardrail', call: listExceptions },
  {
    name: 'allowText',
    as: 'admin',
    takes: 'guardrail',
    call: (account, id) => allowText(account, id, '0'.repeat(64)),
  },
  {
    name: 'disallowText',
    as: 'admin',
    takes: 'guardrail',
    call: (account, id) => disallowText(account, id, '0'.repeat(64)),
  },
  { name: 'showGuardrail', as: 'admin', takes: 'guardrail', call: showGuardrail },
  {
    name: 'tryGuardrail',
    as: 'admin',
    takes: 'guardrail',
    call: (account, guardrail) => tryGuardrail(account, { guardrail }, 'text'),
  },
  {
    name: 'updateAgent',
    as: 'admin',
    takes: 'agent',
    call: (account, agent) => updateAgent(account, { agent, description: 'ours now', visibility: 'public' }),
  },
  { name: 'resumeConversation', as: 'admin', takes: 'conversation', call: resumeConversation },
  {
    name: 'setAutomated',
    as: 'admin',
    takes: 'agent',
    call: (account, agent) => setAutomated(account, { agent, isAutomated: true }),
  },
  { name: 'reissueKey', as: 'admin', takes: 'agent', call: reissueKey },
  {
    name: 'addKey',
    as: 'admin',
    takes: 'agent',
    call: (account, agent) => addKey(account, { agent, name: 'another' }),
  },
  {
    name: 'revokeKey',
    as: 'admin',
    takes: 'agent',
    call: (account, agent) => revokeKey(account, { agent, key: 'none' }),
  },
  {
    name: 'revokeKey by its id',
    as: 'admin',
    takes: 'credential',
    call: (account, key) => revokeKey(account, { agent: 'mallory', key }),
  },
  { name: 'deleteAdminKey', as: 'admin', takes: 'credential', call: deleteAdminKey },
  { name: 'revokeGrant', as: 'admin', takes: 'grant', call: revokeGrant },
  {
    name: 'listThreads of an agent',
    as: 'admin',
    takes: 'agent',
    call: (account, agentId) => listThreads(account, { agentId }),
  },
  { name: 'findMessage', as: 'admin', takes: 'message', call: (account, id) => findMessage(account, { id }) },
  { name: 'listGrantsOfAgent', as: 'admin', takes: 'agent', call: listGrantsOfAgent },
]

/** Verbs without a probe, each with the reason. */
export const verbsWithoutProbe: Record<string, string> = {
  sendMessage: 'takes the sender from its caller (probed as sends of the calling agent, above)',
  answeredTask: 'names a task that was found for the caller, inside sendMessage',
  answerOf: 'the same',
  answerFor: 'showTask and getTask',
  findTask: 'getTask',
  clientOf: 'names nothing: the caller',
  requireTaskStream: 'the same',
  findRepeat: 'looks up a key of the sender, inside sendMessage',
  withPresence: 'tells who is at the recipient of a message that the caller sent, inside sendMessage',
  readMessages: 'reads only the inbox of the caller (test/isolation-verbs.test.ts)',
  claimMessages: 'the same',
  leaseChanged: 'looks at leases of the caller',
  peekInbox: 'the same (test/rest/inbox.test.ts)',
  summarizeInbox: 'the same',
  parkedMessages: 'lists only messages of the account (test/isolation-statements.test.ts)',
  readAgain: 'the same',
  leaseOf: 'the same, with a lease that no caller names',
  ackLease: 'the same',
  release: 'the same',
  releaseUnknown: 'the same, for a lease that may not exist',
  releaseAbandoned: 'the same, for the process itself',
  parkDamaged: 'the same, with messages of that lease',
  cursorAt: 'names a position in the inbox of the caller',
  positionOf: 'takes only cursors of the caller (test/grid/messaging/read-again.test.ts)',
  waitForMessages: 'reads only the inbox of the caller (test/grid/messaging/waiting.test.ts)',
  watchInbox: 'reads only the inbox of the caller (test/grid/messaging/waiting.test.ts)',
  listChannels: 'lists only channels of the caller (test/isolation-verbs.test.ts)',
  setSkills: 'names skills by text, in the account of the caller (test/isolation-verbs.test.ts)',
  createAgent: 'tells that an alias is taken, as signup does: aliases are unique across accounts',
  refuseTakenAlias: 'the same',
  refuseUnknownAliases: 'the same, of an alias that nobody has (test/grid/access-list.test.ts)',
  createAdminKey: 'takes a display name',
  listConversations: 'lists only threads of the account (test/web/conversations/conversations.test.ts)',
  openConversation: 'names a thread by its number (the same)',
  readable: 'the same, inside openConversation',
  recordIfOthers: 'the same',
  recordReadingOf: 'the same',
  findMessages: 'names messages by their numbers (the same)',
  findThread: 'names a thread by its number (test/grid/conversations/threads.test.ts)',
  isInThread: 'the same',
  setSeen: 'the same',
  unreadIn: 'the same',
  readThread: 'names a thread by its number (test/grid/conversations/messages.test.ts)',
  receiptsOf: 'names messages by their numbers (the same)',
  receiptsOfPost: 'the same',
  readChain: 'the same',
  listGrants: 'lists only grants of the account (test/oauth/revoke.test.ts)',
  fetchAgentKey: 'makes a key of the calling agent',
  revokeOwnKey: 'revokes the key that calls (test/rest/agent-key.test.ts)',
  describeCaller: 'tells of the key that calls (the same)',
  newAgentStatements: 'builds statements for createAgent and signUp',
  sealRemoteToken: 'seals a token for createAgent and updateAgent',
  attachSkills: 'builds statements for setSkills and createAgent',
  refuseTooManySkills: 'counts the skills of the account',
  requireSkillLimit: 'the same',
  recordRefusal: 'writes a row of the account of the caller (test/mcp/wrong-parameters.test.ts)',
  createGuardrail: 'takes a name in the account',
  listGuardrails: 'admin_list_guardrails in the matrix of tools',
  createSkill: 'the same',
  findAgent: 'the lookup that the probed verbs use',
  findProgram: 'the same',
  findSeat: 'names nothing: the alias of the caller',
  callingSeat: 'the same',
  suggestAlias: 'tells that an alias is taken, as createAgent does',
  chooseAlias: 'the same',
  giveUpAlias: 'names nothing: the alias of the caller',
  endSeat: 'builds statements for giveUpAlias and for verbs that name a member',
  myInbox: 'reads only the inbox of the caller (test/grid/conversations/my-inbox.test.ts)',
  markAllRead: 'the same',
  readerOf: 'names nothing: what the caller may read (test/grid/conversations/may-read.test.ts)',
  recordReading: 'writes a row of the account of the caller (test/grid/conversations/readings.test.ts)',
  writeInConversation:
    'names a conversation by its number, from its page (test/web/conversations/writing-roles.test.ts)',
  findAnswered: 'the same',
  addressOfAnswer: 'replyToMessage',
  placeOfSent: 'names a message that the caller has just sent',
  markConversationRead: 'names a conversation by its number, from its page (test/web/roles.test.ts)',
  markConversationUnread: 'the same',
  nextUnread: 'reads only the inbox of the caller (test/web/conversations/marks.test.ts)',
  setPeopleRead: 'names nothing: a setting of the account (test/grid/conversations/may-read.test.ts)',
  deleteAgent: 'admin_delete_agent in the matrix of tools',
  deleteChannel: 'admin_delete_channel in the matrix of tools',
  setAgentGuardrails: 'admin_set_agent_guardrails in the matrix of tools',
  setAgentSkills: 'admin_set_agent_skills in the matrix of tools',
  setChannelMembers: 'admin_set_channel_members in the matrix of tools',
  inviteMember: 'takes an email address (test/grid/people/team.test.ts)',
  resendInvitation: 'names an invitation, for a signed-in user (the same)',
  withdrawInvitation: 'the same',
  setMemberRole: 'names a member, for a signed-in user (the same)',
  removeMember: 'the same',
  transferOwnership: 'the same',
  leaveAccount: 'names nothing',
  pausedConversations: 'lists only conversations of the account (test/isolation-statements.test.ts)',
  longConversations: 'the same',
  findConditions: 'the same',
  attentionOf: 'the same',
  withoutSnoozed: 'names nothing: what the caller has snoozed',
  endSnooze: 'names a snooze of the caller',
  listBrowsers: 'lists only browsers of the caller (test/web/people/notifications.test.ts)',
  unsubscribe: 'names a browser of the caller (the same)',
  recordResult: 'is called by the process itself, or with browsers of the caller',
  findDigest: 'names nothing: the digest of the caller',
  setDigest: 'the same',
  recordPauses: 'is called by the process itself (test/grid/messaging/runaway.test.ts)',
  setTurnLimits: 'changes the account of the caller',
  acksPart: 'what a send acks, inside sendMessage, which is probed with acks',
  quotaPart: 'counts a message of the sender, inside sendMessage (test/grid/messaging/quota.test.ts)',
  trialPart: 'counts a message of the sender on trial, inside sendMessage (test/grid/messaging/send-path.test.ts)',
  turnPart: 'counts a message of the sender, inside sendMessage (test/grid/messaging/runaway-processes.test.ts)',
  countMessage: 'counts a message of the sender, inside sendMessage (test/grid/messaging/quota.test.ts)',
  countChunk: 'counts what the agent adds, inside updateTask (test/grid/messaging/quota.test.ts)',
  refuseBeyondQuotas: 'says which quota refused a send, inside sendMessage (test/grid/messaging/quota.test.ts)',
  authorize: 'reads the role of the caller',
  renameAccount: 'takes a name in the account',
  requireSecondFactor: 'changes the account of the caller',
  setContentsVisible: 'the same',
}
