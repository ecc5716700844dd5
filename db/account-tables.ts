/**
 * Properties of each account table beyond its columns. This file compiles only if it lists every account table.
 */
import * as schema from './schema.ts'

type Schema = typeof schema
type AccountTable = {
  [Name in keyof Schema]: Schema[Name] extends { accountId: unknown } ? Name : never
}[keyof Schema]

interface AccountTableFacts {
  /**
   * How the removal of the account treats the table's rows. `drained`: deleted in pieces. `follows`: deleted with the
   * rows they reference. `expires`: removed like expired rows, before all others. `emptied`: deleted at the end, in one
   * statement. `kept`: kept without texts and names, because other accounts' rows reference them.
   */
  removal: 'drained' | 'follows' | 'expires' | 'emptied' | 'kept'
  /**
   * Whether archives contain the table, as defined in `src/features/archives/store/tables.ts`, or why not. `secret`:
   * secrets, sessions and subscriptions. `person`: people, who become invitations. `derived`: recomputed from the
   * messages. `local`: specific to the grid in which the rows were created.
   */
  archive: true | 'secret' | 'person' | 'derived' | 'local'
  /**
   * When rows are removed while the account exists. `age`: by their own age, in `src/store/global/retention.ts` or, for
   * OAuth, in `src/store/global/oauth.ts`. `message`: by the retention of their messages, in
   * `src/store/account/retention.ts`. `stays`: only explicitly, or with the rows they reference.
   */
  expires: 'age' | 'message' | 'stays'
}

export const accountTables = {
  activity: { removal: 'drained', archive: true, expires: 'stays' },
  agentAccess: { removal: 'drained', archive: true, expires: 'stays' },
  agentGuardrails: { removal: 'drained', archive: true, expires: 'stays' },
  agentNumbers: { removal: 'kept', archive: 'derived', expires: 'stays' },
  agentSkills: { removal: 'drained', archive: true, expires: 'stays' },
  agents: { removal: 'kept', archive: true, expires: 'stays' },
  approvalRules: { removal: 'drained', archive: true, expires: 'stays' },
  artifacts: { removal: 'follows', archive: true, expires: 'stays' },
  blockedSends: { removal: 'drained', archive: 'local', expires: 'age' },
  channelMembers: { removal: 'drained', archive: true, expires: 'stays' },
  channels: { removal: 'drained', archive: true, expires: 'stays' },
  contexts: { removal: 'drained', archive: true, expires: 'age' },
  conversationTurns: { removal: 'drained', archive: 'local', expires: 'age' },
  credentials: { removal: 'drained', archive: 'secret', expires: 'stays' },
  deliveries: { removal: 'kept', archive: true, expires: 'message' },
  traffic: { removal: 'drained', archive: 'derived', expires: 'age' },
  guardrailConsents: { removal: 'drained', archive: true, expires: 'stays' },
  guardrailCounts: { removal: 'drained', archive: true, expires: 'age' },
  guardrailExceptions: { removal: 'drained', archive: true, expires: 'stays' },
  guardrails: { removal: 'drained', archive: true, expires: 'stays' },
  heldMessages: { removal: 'drained', archive: true, expires: 'message' },
  idempotencyKeys: { removal: 'drained', archive: 'local', expires: 'age' },
  incomingHooks: { removal: 'drained', archive: 'secret', expires: 'stays' },
  invitations: { removal: 'drained', archive: 'person', expires: 'age' },
  leaseReleases: { removal: 'expires', archive: true, expires: 'message' },
  leases: { removal: 'drained', archive: true, expires: 'stays' },
  mailDigests: { removal: 'drained', archive: 'secret', expires: 'stays' },
  memberships: { removal: 'drained', archive: 'person', expires: 'stays' },
  messages: { removal: 'expires', archive: true, expires: 'message' },
  oauthGrants: { removal: 'drained', archive: 'secret', expires: 'age' },
  oauthTokens: { removal: 'drained', archive: 'secret', expires: 'age' },
  parts: { removal: 'expires', archive: true, expires: 'message' },
  pushNotices: { removal: 'drained', archive: 'secret', expires: 'age' },
  pushSubscriptions: { removal: 'drained', archive: 'secret', expires: 'stays' },
  remoteAgents: { removal: 'drained', archive: 'local', expires: 'stays' },
  remoteTasks: { removal: 'drained', archive: 'local', expires: 'age' },
  remoteOutboxes: { removal: 'drained', archive: 'local', expires: 'stays' },
  removedMembers: { removal: 'drained', archive: 'person', expires: 'stays' },
  personAliases: { removal: 'drained', archive: 'person', expires: 'stays' },
  reservations: { removal: 'drained', archive: 'local', expires: 'stays' },
  scheduledMessages: { removal: 'drained', archive: 'local', expires: 'stays' },
  signups: { removal: 'emptied', archive: 'secret', expires: 'stays' },
  skills: { removal: 'drained', archive: true, expires: 'stays' },
  skippedRows: { removal: 'drained', archive: 'local', expires: 'age' },
  slackChannels: { removal: 'drained', archive: 'secret', expires: 'stays' },
  slackMessages: { removal: 'drained', archive: 'secret', expires: 'stays' },
  slackPeople: { removal: 'drained', archive: 'secret', expires: 'stays' },
  snoozes: { removal: 'drained', archive: 'person', expires: 'age' },
  ssoProviders: { removal: 'drained', archive: 'secret', expires: 'stays' },
  ssoSignIns: { removal: 'drained', archive: 'secret', expires: 'stays' },
  taskEvents: { removal: 'follows', archive: true, expires: 'stays' },
  taskMessages: { removal: 'follows', archive: true, expires: 'message' },
  taskPushConfigs: { removal: 'follows', archive: 'secret', expires: 'stays' },
  tasks: { removal: 'drained', archive: true, expires: 'age' },
  threadAgents: { removal: 'drained', archive: 'derived', expires: 'message' },
  threadMessages: { removal: 'drained', archive: 'derived', expires: 'message' },
  threadSeen: { removal: 'drained', archive: 'person', expires: 'message' },
  threads: { removal: 'drained', archive: 'derived', expires: 'message' },
  trials: { removal: 'drained', archive: 'local', expires: 'stays' },
  uploadRows: { removal: 'drained', archive: true, expires: 'age' },
  uploads: { removal: 'drained', archive: true, expires: 'age' },
  usage: { removal: 'drained', archive: 'local', expires: 'age' },
  verdicts: { removal: 'drained', archive: true, expires: 'age' },
  webhookEvents: { removal: 'drained', archive: 'secret', expires: 'stays' },
  webhooks: { removal: 'drained', archive: 'secret', expires: 'stays' },
} satisfies Record<AccountTable, AccountTableFacts>
