/** What concerns each table of an account besides its columns. A new table of `schema.ts` compiles only when it is here. */
import * as schema from './schema.ts'

type Schema = typeof schema
type AccountTable = {
  [Name in keyof Schema]: Schema[Name] extends { accountId: unknown } ? Name : never
}[keyof Schema]

interface AccountTableFacts {
  /**
   * What becomes of its rows when the account is removed. `drained`: they are deleted in pieces. `follows`: they go with
   * the rows that they reference. `expires`: as their retention removes them, before all others. `emptied`: at the end, in
   * one statement. `kept`: they stay without words and names, because rows of other accounts reference them.
   */
  removal: 'drained' | 'follows' | 'expires' | 'emptied' | 'kept'
  /**
   * Whether an archive has it, as `src/store/archive/tables.ts` says, or why not. `secret`: secrets, and what is signed in or
   * subscribed. `person`: people, who become invitations. `derived`: made again from the messages. `local`: it concerns the
   * grid where it happened.
   */
  archive: true | 'secret' | 'person' | 'derived' | 'local'
}

export const accountTables = {
  activity: { removal: 'drained', archive: true },
  agentAccess: { removal: 'drained', archive: true },
  agentGuardrails: { removal: 'drained', archive: true },
  agentNumbers: { removal: 'kept', archive: 'derived' },
  agentSkills: { removal: 'drained', archive: true },
  agents: { removal: 'kept', archive: true },
  approvalRules: { removal: 'drained', archive: true },
  artifacts: { removal: 'follows', archive: true },
  blockedSends: { removal: 'drained', archive: 'local' },
  channelMembers: { removal: 'drained', archive: true },
  channels: { removal: 'drained', archive: true },
  contexts: { removal: 'drained', archive: true },
  conversationTurns: { removal: 'drained', archive: 'local' },
  credentials: { removal: 'drained', archive: 'secret' },
  deliveries: { removal: 'kept', archive: true },
  edges: { removal: 'drained', archive: 'derived' },
  guardrailConsents: { removal: 'drained', archive: true },
  guardrailCounts: { removal: 'drained', archive: true },
  guardrailExceptions: { removal: 'drained', archive: true },
  guardrails: { removal: 'drained', archive: true },
  heldMessages: { removal: 'drained', archive: true },
  idempotencyKeys: { removal: 'drained', archive: 'local' },
  invitations: { removal: 'drained', archive: 'person' },
  leaseReleases: { removal: 'expires', archive: true },
  leases: { removal: 'drained', archive: true },
  mailDigests: { removal: 'drained', archive: 'secret' },
  memberships: { removal: 'drained', archive: 'person' },
  messages: { removal: 'expires', archive: true },
  oauthGrants: { removal: 'drained', archive: 'secret' },
  oauthTokens: { removal: 'drained', archive: 'secret' },
  parts: { removal: 'expires', archive: true },
  pushNotices: { removal: 'drained', archive: 'secret' },
  pushSubscriptions: { removal: 'drained', archive: 'secret' },
  remoteAgents: { removal: 'drained', archive: 'local' },
  remoteExchanges: { removal: 'drained', archive: 'local' },
  remoteSenders: { removal: 'drained', archive: 'local' },
  removedMembers: { removal: 'drained', archive: 'person' },
  seats: { removal: 'drained', archive: 'person' },
  signups: { removal: 'emptied', archive: 'secret' },
  skills: { removal: 'drained', archive: true },
  skippedRows: { removal: 'drained', archive: 'local' },
  slackChannels: { removal: 'drained', archive: 'secret' },
  slackMessages: { removal: 'drained', archive: 'secret' },
  slackPeople: { removal: 'drained', archive: 'secret' },
  snoozes: { removal: 'drained', archive: 'person' },
  ssoProviders: { removal: 'drained', archive: 'secret' },
  ssoSignIns: { removal: 'drained', archive: 'secret' },
  taskEvents: { removal: 'follows', archive: true },
  taskMessages: { removal: 'follows', archive: true },
  taskPushConfigs: { removal: 'follows', archive: 'secret' },
  tasks: { removal: 'drained', archive: true },
  threadAgents: { removal: 'drained', archive: 'derived' },
  threadMessages: { removal: 'drained', archive: 'derived' },
  threadSeen: { removal: 'drained', archive: 'person' },
  threads: { removal: 'drained', archive: 'derived' },
  trials: { removal: 'drained', archive: 'local' },
  uploadRows: { removal: 'drained', archive: true },
  uploads: { removal: 'drained', archive: true },
  usage: { removal: 'drained', archive: 'local' },
  verdicts: { removal: 'drained', archive: true },
  webhookEvents: { removal: 'drained', archive: 'secret' },
  webhooks: { removal: 'drained', archive: 'secret' },
} satisfies Record<AccountTable, AccountTableFacts>
