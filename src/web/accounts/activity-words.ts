/** What the calls of the activity log are called by people. */
import type { Named } from '../../store/account/names.ts'

/** What a sentence has a place for: which arguments name it, and what stands there while nobody knows. */
export interface Place {
  /** The first that can be read counts. */
  from: string[]
  /** Undefined for a word that is shown as it is. */
  kind?: Named['kind']
  /** `skill` of “skill proofreading”. */
  noun?: string
  /** An argument that lists several. */
  isMany?: boolean
  /** For a list of nothing. */
  whenNone?: string
  otherwise?: string
}

export const places: Record<string, Place> = {
  agent: { from: ['alias', 'agent', 'id'], kind: 'agent', otherwise: 'an agent' },
  members: { from: ['members'], kind: 'agent', isMany: true, whenNone: 'nobody' },
  added: { from: ['add'], kind: 'agent', isMany: true },
  removed: { from: ['remove'], kind: 'agent', isMany: true },
  kept: { from: ['kept'], kind: 'agent', isMany: true, otherwise: 'agents that signed up' },
  discarded: { from: ['discarded'], kind: 'agent', isMany: true },
  channel: { from: ['name', 'channel', 'id'], kind: 'channel', otherwise: 'a channel' },
  skill: { from: ['id', 'name'], kind: 'skill', noun: 'skill', otherwise: 'a skill' },
  skills: { from: ['skills'], kind: 'skill', isMany: true, whenNone: 'none' },
  guardrail: { from: ['id', 'name'], kind: 'guardrail', noun: 'guardrail', otherwise: 'a guardrail' },
  guardrails: { from: ['guardrails'], kind: 'guardrail', isMany: true, whenNone: 'none' },
  key: { from: ['name', 'id'], kind: 'admin_key', noun: 'admin key', otherwise: 'an admin key' },
  program: { from: ['id', 'program'], kind: 'program', noun: 'program', otherwise: 'a program' },
  programs: { from: ['programs'], kind: 'program', isMany: true, otherwise: 'programs' },
  as: { from: ['as'], kind: 'agent', otherwise: 'an agent or the admin' },
  member: { from: ['userId', 'email'], kind: 'person', otherwise: 'somebody' },
  invited: { from: ['email', 'id'], kind: 'invitation', otherwise: 'somebody' },
  role: { from: ['role'] },
  name: { from: ['name'] },
}

/** To do it, done, and to what; what stands in brackets goes when its place has nothing. */
type Act = readonly [verb: string, past: string, what: string]

const createAgent: Act = ['Create', 'Created', '{agent}']
const createChannel: Act = ['Create', 'Created', '{channel}']
const createGuardrail: Act = ['Create', 'Created', '{guardrail}']
const createAdminKey: Act = ['Make', 'Made', '{key}']
const deleteAdminKey: Act = ['Delete', 'Deleted', '{key}']
const createAccount: Act = ['Make', 'Made', 'the account[ {name}]']

/** By the name that stands in the log: of an admin tool, of what a page does, or of a command. */
const acts: Record<string, Act> = {
  admin_list_agents: ['List', 'Listed', 'the agents'],
  admin_list_channels: ['List', 'Listed', 'the channels'],
  admin_list_skills: ['List', 'Listed', 'the skills'],
  admin_list_guardrails: ['List', 'Listed', 'the guardrails'],
  admin_list_guardrail_providers: ['List', 'Listed', 'the providers of guardrails'],

  admin_create_agent: createAgent,
  'create-agent': createAgent,
  update_agent: ['Change', 'Changed', 'the settings of {agent}'],
  reissue_agent_key: ['Replace', 'Replaced', 'the key of {agent}'],
  admin_delete_agent: ['Delete', 'Deleted', '{agent}'],
  admin_set_agent_skills: ['Set', 'Set', 'the skills of {agent}[ to {skills}]'],
  admin_set_agent_guardrails: ['Set', 'Set', 'the guardrails of {agent}[ to {guardrails}]'],
  claim_account: ['Claim', 'Claimed', '{kept}[, without {discarded}]'],
  merge_account: ['Take over', 'Took over', '{kept}[, without {discarded}]'],

  admin_create_channel: createChannel,
  'create-channel': createChannel,
  update_channel: ['Change', 'Changed', 'the description of {channel}'],
  admin_delete_channel: ['Delete', 'Deleted', '{channel}'],
  admin_set_channel_members: ['Set', 'Set', 'the members of {channel}[ to {members}]'],
  change_channel_members: ['Change', 'Changed', 'the members of {channel}[: {added} came][: {removed} went]'],

  create_skill: ['Create', 'Created', '{skill}'],
  update_skill: ['Change', 'Changed', '{skill}'],
  delete_skill: ['Delete', 'Deleted', '{skill}'],
  create_guardrail: createGuardrail,
  'create-guardrail': createGuardrail,
  update_guardrail: ['Change', 'Changed', '{guardrail}'],
  delete_guardrail: ['Delete', 'Deleted', '{guardrail}'],

  create_account: createAccount,
  'create-account': createAccount,
  rename_account: ['Rename', 'Renamed', 'the account[ to {name}]'],
  create_admin_key: createAdminKey,
  'create-admin-key': createAdminKey,
  delete_admin_key: deleteAdminKey,
  'delete-admin-key': deleteAdminKey,
  give_grant: ['Let', 'Let', '{program} act as {as}'],
  revoke_grant: ['Disconnect', 'Disconnected', '{program}'],
  revoke_own_grant: ['Disconnect', 'Disconnected', '{program} of their own[, no longer to act as {as}]'],
  return_grant: ['Disconnect', 'Disconnected', '{program}, as it asked[, no longer to act as {as}]'],
  reset_password: ['Disconnect', 'Disconnected', '{programs} by choosing a new password'],
  fetch_agent_key: ['Fetch', 'Fetched', 'a new key for {agent}'],

  invite_member: ['Invite', 'Invited', '{invited}[ as {role}]'],
  withdraw_invitation: ['Withdraw', 'Withdrew', 'the invitation of {invited}'],
  accept_invitation: ['Join', 'Joined', 'the account[ as {role}]'],
  set_member_role: ['Change', 'Changed', 'the role of {member}[ to {role}]'],
  remove_member: ['Remove', 'Removed', '{member} from the account'],
  leave_account: ['Leave', 'Left', 'the account'],
  hand_over_account: ['Hand over', 'Handed over', 'the account to {member}'],
}

/** Whether people are told more of this call than its name. */
export function hasWords(tool: string): boolean {
  return Object.hasOwn(acts, tool)
}

/** A sentence with places: `Created {agent}`, `Could not create {agent}`. */
export function sentenceOf(tool: string, outcome: string): string {
  const [verb, past, what] = wordsOf(tool)
  return outcome === 'ok' ? `${past} ${what}` : `Could not ${verb.toLowerCase()} ${what}`
}

/** What one chooses calls of this kind by: `Create an agent`. */
export function titleOf(tool: string): string {
  const [verb, , what] = wordsOf(tool)
  const title = `${verb} ${what}`.replace(/\[.*?\]/g, '').replace(
    /\{(\w+)\}/g,
    (_, name) => places[name].otherwise ?? '',
  )
  return tool.includes('-') ? `${title}, by command` : title
}

/** What has no words of its own is called by its name. */
function wordsOf(tool: string): Act {
  return hasWords(tool) ? acts[tool] : ['Call', 'Called', tool.replaceAll(/[^a-z0-9]+/gi, ' ')]
}

const reasons: Record<string, string> = {
  internal: 'failed inside the grid',
  invalid_input: 'the input is not valid',
  last_owner: 'there is no other owner',
  not_allowed: 'not allowed',
  unavailable: 'the database did not answer',
}

/** Why it was refused: the code of an error in words. */
export function reasonOf(outcome: string): string {
  return Object.hasOwn(reasons, outcome) ? reasons[outcome] : outcome.replaceAll('_', ' ')
}
