/** Sentences that describe calls in the activity log. */
import type { NamedEntity } from '../../store/account/profile.ts'

/** A sentence's placeholder: the arguments that can fill it, and the text used if none can. */
export interface SentencePlaceholder {
  /** Argument names in order of preference. The first readable argument is used. */
  argumentNames: string[]
  /** The kind of entity that the argument names. Undefined for plain text. */
  kind?: NamedEntity['kind']
  /** Shown before the name: `skill` in “skill proofreading”. */
  noun?: string
  /** Whether the argument is a list. */
  isList?: boolean
  /** The text for an empty list. */
  emptyText?: string
  /** The text if no argument can be read. */
  fallback?: string
}

export const placeholders: Record<string, SentencePlaceholder> = {
  agent: { argumentNames: ['alias', 'agent', 'id', 'agent_id'], kind: 'agent', fallback: 'an agent' },
  partner: { argumentNames: ['partner'] },
  members: { argumentNames: ['members'], kind: 'agent', isList: true, emptyText: 'none' },
  added: { argumentNames: ['add'], kind: 'agent', isList: true },
  removed: { argumentNames: ['remove'], kind: 'agent', isList: true },
  kept: { argumentNames: ['kept'], kind: 'agent', isList: true, fallback: 'agents that signed up' },
  moved: { argumentNames: ['moved'], kind: 'agent', isList: true },
  discarded: { argumentNames: ['discarded'], kind: 'agent', isList: true },
  channel: { argumentNames: ['name', 'channel', 'id', 'channel_id'], kind: 'channel', fallback: 'a channel' },
  skill: { argumentNames: ['id', 'name'], kind: 'skill', noun: 'skill', fallback: 'a skill' },
  skills: { argumentNames: ['skills'], kind: 'skill', isList: true, emptyText: 'none' },
  guardrail: {
    argumentNames: ['id', 'name', 'guardrail'],
    kind: 'guardrail',
    noun: 'guardrail',
    fallback: 'a guardrail',
  },
  guardrails: { argumentNames: ['guardrails'], kind: 'guardrail', isList: true, emptyText: 'none' },
  key: { argumentNames: ['name', 'id'], kind: 'admin_key', noun: 'admin key', fallback: 'an admin key' },
  program: { argumentNames: ['id', 'program'], kind: 'client', noun: 'program', fallback: 'a program' },
  programs: { argumentNames: ['programs'], kind: 'client', isList: true, fallback: 'programs' },
  as: { argumentNames: ['as'], kind: 'agent', fallback: 'an agent or @admin' },
  member: { argumentNames: ['userId', 'email'], kind: 'user', fallback: 'someone' },
  invited: { argumentNames: ['email', 'id'], kind: 'invitation', fallback: 'someone' },
  participants: { argumentNames: ['agents'], kind: 'agent', isList: true, fallback: 'agents' },
  role: { argumentNames: ['role'] },
  name: { argumentNames: ['name'] },
  host: { argumentNames: ['host'], fallback: 'a service' },
}

/** Infinitive, past tense and object. A part in brackets is omitted if its placeholder cannot be filled. */
type Phrase = readonly [verb: string, past: string, object: string]
export type Phrases = Readonly<Record<string, Phrase>>

/** Additional phrases from features. */
type Features = readonly { readonly phrases?: Phrases }[]

/**
 * Phrases by logged name: an admin tool, a page action or a command. A command without its own phrase, such as
 * `create-agent`, uses the phrase of `create_agent` or `admin_create_agent`.
 */
const phrases: Phrases = {
  // Logged for a call that was refused before its tool ran, or whose tool does not exist.
  'tools/call': ['Call', 'Called', 'a tool[ {name}]'],
  admin_list_agents: ['List', 'Listed', 'the agents'],
  admin_list_channels: ['List', 'Listed', 'the channels'],
  admin_list_skills: ['List', 'Listed', 'the skills'],
  admin_list_guardrails: ['List', 'Listed', 'the guardrails'],
  admin_list_guardrail_providers: ['List', 'Listed', 'the guardrail providers'],

  admin_create_agent: ['Create', 'Created', '{agent}'],
  update_agent: ['Change', 'Changed', 'the settings of {agent}'],
  confirm_access: ['Confirm', 'Confirmed', 'the alias[ @{partner}] on the access list of {agent}'],
  remove_access: ['Remove', 'Removed', 'the alias[ @{partner}] from the access list of {agent}'],
  reissue_agent_key: ['Replace', 'Replaced', 'the key of {agent}'],
  add_agent_key: ['Add', 'Added', 'a key of {agent}[ named {name}]'],
  revoke_agent_key: ['Revoke', 'Revoked', 'one key of {agent}'],
  revoke_own_key: ['Revoke', 'Revoked', 'the key of {agent} that was used'],
  'new-key': ['Replace', 'Replaced', 'the key of {agent}'],
  set_limits: ['Set', 'Set', 'the limits of the account'],
  get_usage: ['See', 'Saw', 'the usage of the account'],
  delete_account: ['Delete', 'Deleted', 'the account'],
  restore_account: ['Bring back', 'Brought back', 'the account'],
  erase_words: ['Erase', 'Erased', 'what {agent} has written'],
  admin_delete_agent: ['Delete', 'Deleted', '{agent}'],
  admin_set_agent_skills: ['Set', 'Set', 'the skills of {agent}[ to {skills}]'],
  admin_set_agent_guardrails: ['Set', 'Set', 'the guardrails of {agent}[ to {guardrails}]'],
  claim_account: ['Claim', 'Claimed', '{kept}[, moved {moved}][, without {discarded}]'],
  move_agents: ['Move', 'Moved', '{participants} here'],

  admin_create_channel: ['Create', 'Created', '{channel}'],
  update_channel: ['Change', 'Changed', 'the description of {channel}'],
  admin_delete_channel: ['Delete', 'Deleted', '{channel}'],
  admin_set_channel_members: ['Set', 'Set', 'the members of {channel}[ to {members}]'],
  change_channel_members: ['Change', 'Changed', 'the members of {channel}[, added {added}][, removed {removed}]'],

  set_wake: ['Choose', 'Chose', 'which posts of {channel} wake {agent}'],

  pause_conversation: ['Pause', 'Paused', 'the conversation of {participants}, who kept answering each other'],
  resume_conversation: ['Resume', 'Resumed', 'the conversation of {participants}'],
  try_remote_agent: ['Send', 'Sent', 'what waits for {agent}'],
  pause_remote_agent: ['Pause', 'Paused', 'the messages to {agent}'],
  resume_remote_agent: ['Resume', 'Resumed', 'the messages to {agent}'],
  read_remote_card: ['Read', 'Read', 'the card of {agent}'],
  requeue_messages: ['Put back', 'Put back', 'the parked messages of {agent}'],
  set_turn_limits: ['Change', 'Changed', 'the limits of conversations'],
  set_automated: ['Change', 'Changed', 'whether {agent} is automated'],

  read_conversation: ['Read', 'Read', 'the conversation of {participants}'],
  read_channel: ['Read', 'Read', '{channel}'],
  read_conversations: ['Read', 'Read', 'the list of conversations'],
  read_agent: ['Read', 'Read', 'the newest messages of {agent}'],
  show_conversations: ['Let', 'Let', 'owners and admins read what agents write to each other, from then on'],
  show_older_conversations: ['Let', 'Let', 'owners and admins read what agents had written to each other before'],
  hide_conversations: ['Stop letting', 'Stopped letting', 'owners and admins read what agents write to each other'],
  choose_alias: ['Choose', 'Chose', 'the alias {agent}'],
  give_up_alias: ['Remove', 'Removed', 'the alias {agent}'],

  end_reservation: ['End', 'Ended', 'the reservation of {agent}[: {name}]'],

  create_skill: ['Create', 'Created', '{skill}'],
  update_skill: ['Change', 'Changed', '{skill}'],
  delete_skill: ['Delete', 'Deleted', '{skill}'],
  create_guardrail: ['Create', 'Created', '{guardrail}'],
  update_guardrail: ['Change', 'Changed', '{guardrail}'],
  attach_guardrail: ['Attach', 'Attached', '{guardrail}'],
  delete_guardrail: ['Delete', 'Deleted', '{guardrail}'],
  allow_approvals: ['Allow', 'Allowed', 'approval rules to hold their messages'],
  disallow_approvals: ['Stop allowing', 'Stopped allowing', 'approval rules to hold their messages'],
  approve_message: ['Approve', 'Approved', 'a message from {agent}'],
  edit_message: ['Edit and approve', 'Edited and approved', 'a message from {agent}'],
  refuse_message: ['Refuse', 'Refused', 'a message from {agent}'],
  create_approval_rule: ['Create', 'Created', 'the approval rule[ {name}]'],
  update_approval_rule: ['Change', 'Changed', 'the approval rule[ {name}]'],
  delete_approval_rule: ['Delete', 'Deleted', 'the approval rule[ {name}]'],
  list_approval_rules: ['List', 'Listed', 'the approval rules'],
  try_guardrail: ['Try', 'Tried', '{guardrail}'],
  allow_text: ['Allow', 'Allowed', 'a text that {guardrail} had objected to'],
  allow_service: ['Allow', 'Allowed', 'that their messages are sent to {host}'],
  disallow_service: ['Stop allowing', 'Stopped allowing', 'that their messages are sent to {host}'],
  disallow_text: ['Stop allowing', 'Stopped allowing', 'a text that {guardrail} had objected to'],

  create_account: ['Create', 'Created', 'the account[ {name}]'],
  rename_account: ['Rename', 'Renamed', 'the account[ to {name}]'],
  create_admin_key: ['Create', 'Created', '{key}'],
  require_second_factor: ['Change', 'Changed', 'whether owners and admins need a second factor'],
  show_contents: ['Let', 'Let', 'people see the texts that guardrails block'],
  hide_contents: ['Stop showing', 'Stopped showing', 'people the texts that guardrails block, and removed them'],
  reset_second_factor: ['Reset', 'Reset', 'the second factor of {member}'],
  'create-link': ['Create', 'Created', 'a sign-in link for {member}'],
  delete_admin_key: ['Delete', 'Deleted', '{key}'],
  give_grant: ['Authorize', 'Authorized', '{program} as {as}'],
  revoke_grant: ['Disconnect', 'Disconnected', '{program}'],
  revoke_own_grant: ['Disconnect', 'Disconnected', '{program}, which they had authorized[ as {as}]'],
  return_grant: ['Disconnect', 'Disconnected', '{program} at its own request[, which was authorized as {as}]'],
  reset_password: ['Disconnect', 'Disconnected', '{programs} by resetting the password'],
  prove_address: ['Disconnect', 'Disconnected', '{programs} by proving the email address'],
  fetch_agent_key: ['Fetch', 'Fetched', 'a new key for {agent}[ named {name}]'],

  invite_member: ['Invite', 'Invited', '{invited}[ as {role}]'],
  withdraw_invitation: ['Withdraw', 'Withdrew', 'the invitation of {invited}'],
  'stop-requiring-sso': ['Stop requiring', 'Stopped requiring', 'single sign-on'],
  accept_invitation: ['Join', 'Joined', 'the account[ as {role}]'],
  set_member_role: ['Change', 'Changed', 'the role of {member}[ to {role}]'],
  remove_member: ['Remove', 'Removed', '{member} from the account'],
  leave_account: ['Leave', 'Left', 'the account'],
  hand_over_account: ['Hand over', 'Handed over', 'the account to {member}'],
}

/** Whether this call has a phrase. Calls without a phrase are shown by name. */
export function hasPhrase(tool: string, features: Features): boolean {
  return findPhrase(tool, features) !== undefined
}

/** Returns a sentence with placeholders: `Created {agent}`, `Could not create {agent}`. */
export function sentenceOf(tool: string, outcome: string, features: Features): string {
  const [verb, past, object] = phraseOf(tool, features)
  return outcome === 'ok' ? `${past} ${object}` : `Could not ${verb.toLowerCase()} ${object}`
}

/** Returns the filter's title for a kind of call: `Create an agent`. */
export function titleOf(tool: string, features: Features): string {
  const [verb, , object] = phraseOf(tool, features)
  const title = `${verb} ${object}`.replace(/\[.*?\]/g, '').replace(
    /\{(\w+)\}/g,
    (_, name) => placeholders[name].fallback ?? '',
  )
  return tool.includes('-') ? `${title}, by command` : title
}

/** Returns a call's phrase, built from its name if it has none. */
function phraseOf(tool: string, features: Features): Phrase {
  return findPhrase(tool, features) ?? ['Call', 'Called', tool.replaceAll(/[^a-z0-9]+/gi, ' ')]
}

function findPhrase(tool: string, features: Features): Phrase | undefined {
  const action = tool.replaceAll('-', '_')
  const known = [phrases, ...features.map(({ phrases = {} }) => phrases)]
  for (const name of [tool, action, `admin_${action}`]) {
    const found = known.find((phrases) => Object.hasOwn(phrases, name))
    if (found) return found[name]
  }
  return undefined
}

const reasons: Record<string, string> = {
  internal: 'internal error',
  invalid_input: 'invalid input',
  last_owner: 'the account needs another owner',
  not_allowed: 'not allowed',
  storage_full: 'the disk was full',
  unavailable: 'the database did not answer',
}

/** Describes why a call failed. */
export function reasonOf(outcome: string): string {
  return Object.hasOwn(reasons, outcome) ? reasons[outcome] : outcome.replaceAll('_', ' ')
}
