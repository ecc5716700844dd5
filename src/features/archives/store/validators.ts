/**
 * The archive format: its records, their fields, and their allowed values. Only values that the product produces are
 * allowed, because the operator who signed an archive may be hostile. See docs/protocol/archive.md.
 */
import { GridError } from '../../../errors.ts'
import { fromBase64 } from '../../../lib/encoding.ts'
import { parseBody } from '../../../lib/http/body.ts'
import { isId } from '../../../lib/id.ts'
import { aliasPattern } from '../../../aliases.ts'
import { isPlainAddress } from '../../../lib/names.ts'
import { hasAtMost, wellFormed } from '../../../lib/text.ts'
import { day } from '../../../lib/time.ts'

export const archiveFormat = 'agent-grid-archive'
/** Increases with each change of records, fields or values. An import accepts every version up to this one. */
export const archiveVersion = 1
/** The record name of people. An import creates an invitation from each of these records. */
export const personRecord = 'person'

export type ArchivedRow = Record<string, string | number | null>

/** Returns a description of the expected value, or undefined if the value is valid. `now` is the time of the import. */
type Validator = (value: unknown, now: number) => string | undefined

const is = (what: string, holds: (value: unknown, now: number) => boolean): Validator => (value, now) =>
  holds(value, now) ? undefined : what
const optional = (validator: Validator): Validator => (value, now) => value === null ? undefined : validator(value, now)
const oneOf = (...values: string[]) => is(`one of ${values.join(', ')}`, (value) => values.includes(value as string))
const textLike = (what: string, holds: (text: string) => boolean) =>
  is(what, (value) => typeof value === 'string' && wellFormed(value) === value && holds(value))
const text = (max: number) => textLike(`a text of at most ${max} characters`, (value) => hasAtMost(value, max))

/** The end of the year 9999, the latest possible date. */
const lastTime = Date.UTC(9999, 11, 31)
const count = is('a whole number', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
const flag = is('0 or 1', (value) => value === 0 || value === 1)
/** The time of an event. Up to a day in the future is allowed, because the other machine's clock may be ahead. */
const past = is(
  'a time before this one',
  (value, now) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= now + day,
)
const time = is('a time', (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= lastTime)

const id = textLike('an id', isId)
const alias = textLike('an alias', (value) => aliasPattern.test(value))
/** An agent's alias. A moved agent's alias is its id. */
const ownAlias = textLike('an alias', (value) => aliasPattern.test(value) || isId(value))
const channelName = textLike('the name of a channel', (value) => aliasPattern.test(value))
const recipient = textLike('an alias or a channel', (value) => /^[@#]/.test(value) && aliasPattern.test(value.slice(1)))
const hash = textLike('a hash', (value) => /^[\w+/=-]{1,128}$/.test(value))
const host = textLike('a host', (value) => value.length <= 300 && URL.canParse(`https://${value}/`))
const webAddress = (value: string) =>
  value.length <= 2_048 && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
const address = textLike('an http or https address', webAddress)
/** Ids chosen by clients, names, and texts of the product. Any text is allowed, because every page escapes it. */
const name = text(300)
const line = text(1_000)
/** A message's text: 10,000 characters, plus the text that guardrails substituted. */
const body = text(250_000)

const jsonLimits = { maxBytes: 16 * 2 ** 20, maxDepth: 64, maxTokens: 200_000 }
const json = (what: string, holds: (value: unknown) => boolean) =>
  textLike(what, (value) => {
    try {
      return value.length <= jsonLimits.maxBytes && holds(parseBody(value, jsonLimits))
    } catch {
      return false
    }
  })
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isTextOrNull = (value: unknown) => value === null || typeof value === 'string'
const areTexts = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string')
const isListOf = (holds: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || (Array.isArray(value) && value.every(holds))
const details = json(
  'the details of a message',
  (value) =>
    isObject(value) && [value.parts, value.more].every(isListOf(isObject)) &&
    isListOf((choice) => typeof choice === 'string')(value.choices),
)
const jsonList = json('a list as JSON', Array.isArray)
const jsonIds = json(
  'a list of ids as JSON',
  (value) => Array.isArray(value) && value.every((one) => isId(String(one))),
)
const anyJson = json('JSON', () => true)
/** A guardrail provider's configuration, which may contain the URL of a service. */
const config = json(
  'a configuration with http and https addresses',
  (value) => isObject(value) && (value.url === undefined || webAddress(String(value.url))),
)
const turnLimits = json(
  'limits of turns',
  (value) => isObject(value) && Object.values(value).every(Number.isSafeInteger),
)
const holdingRule = json(
  'a rule',
  (value) =>
    isObject(value) && isTextOrNull(value.id) && typeof value.name === 'string' && areTexts(value.deciders) &&
    ['boolean', 'undefined'].includes(typeof value.is_risky),
)
const findings = json(
  'a list of findings',
  (value) =>
    Array.isArray(value) &&
    value.every((one) => isObject(one) && typeof one.guardrail === 'string' && areTexts(one.kinds)),
)

const directions = oneOf('inbound', 'outbound', 'both')
const actions = oneOf('block', 'hold', 'redact', 'flag')
const outcomes = oneOf('blocked', 'held', 'redacted', 'flagged', 'unchecked', 'failed')
const taskStates = [
  ...['submitted', 'working', 'input-required', 'auth-required', 'completed', 'canceled', 'failed', 'rejected'],
]
const taskState = oneOf(...taskStates)
/** Delivery data of a held message. Checked in detail, because the worker that reads it serves all accounts. */
const heldDelivery = json(
  'what a held message needs to be delivered',
  (value) =>
    isObject(value) && isTextOrNull(value.task_id) && isTextOrNull(value.context_id) &&
    typeof value.is_in_task_alone === 'boolean' &&
    (value.expires_at === null || Number.isSafeInteger(value.expires_at)) &&
    (value.step === undefined || isHeldStep(value.step)),
)
const isHeldStep = (step: unknown): boolean =>
  isObject(step) && (step.state == null || taskStates.includes(String(step.state))) &&
  (step.chunk === undefined || isObject(step.chunk) && typeof step.chunk.artifact_id === 'string' &&
      typeof step.chunk.is_appended === 'boolean' && typeof step.chunk.is_last === 'boolean' &&
      isTextOrNull(step.chunk.name))

/** The validators by record and field. Every field in `tables.ts` has one. */
export const validators: Readonly<Record<string, Readonly<Record<string, Validator>>>> = {
  account: {
    id,
    name: text(80),
    created_at: past,
    requires_second_factor: flag,
    people_see_blocked_texts: flag,
    turn_limits: optional(turnLimits),
    people_read_since: optional(time),
  },
  [personRecord]: {
    email: textLike('an email address', isPlainAddress),
    role: oneOf('owner', 'admin', 'member', 'viewer'),
    agent_id: optional(id),
  },
  agent: {
    id,
    alias: ownAlias,
    type: oneOf('mcp', 'a2a', 'human', 'hook'),
    visibility: oneOf('private', 'public'),
    access_policy: oneOf('auto_approve', 'allow_list', 'block_list'),
    description: text(500),
    remote_url: optional(address),
    created_at: past,
    deleted_at: optional(past),
    seen_at: optional(past),
    is_automated: flag,
    replies_are_answers: flag,
    callers_wait: oneOf('auto', 'yes', 'no'),
  },
  access_entry: { agent_id: id, alias },
  skill: { id, name, description: text(500), created_at: past },
  agent_skill: { agent_id: id, skill_id: id },
  channel: {
    id,
    name: channelName,
    description: text(500),
    external_type: optional(name),
    external_name: optional(name),
    created_at: past,
    deleted_at: optional(past),
  },
  channel_member: { channel_id: id, agent_id: id, joined_at: past, is_following: flag },
  guardrail: {
    id,
    name,
    provider: textLike('the name of a provider', (value) => /^[a-z0-9-]{1,64}$/.test(value)),
    config,
    action: actions,
    on_failure: oneOf('closed', 'open'),
    is_enabled: flag,
    host: optional(host),
    all_agents: optional(directions),
    created_at: past,
  },
  agent_guardrail: { agent_id: id, guardrail_id: id, direction: directions, action: optional(actions) },
  guardrail_consent: { agent_id: id, provider: name, host, created_at: past },
  guardrail_exception: { guardrail_id: id, text_hash: hash, created_at: past },
  approval_rule: {
    id,
    name,
    from_kind: oneOf('agent', 'any', 'external', 'people', 'remote'),
    from_id: optional(id),
    to_kind: oneOf('agent', 'any', 'external', 'people', 'remote', 'channel'),
    to_id: optional(id),
    condition: oneOf('always', 'finding', 'parts'),
    guardrail_id: optional(id),
    media_type: optional(line),
    min_bytes: optional(count),
    deciders: jsonIds,
    expires_ms: count,
    is_enabled: flag,
    is_risky: flag,
    created_at: past,
    updated_at: past,
  },
  message: {
    id,
    sender_id: id,
    sender_alias: alias,
    type: oneOf('agent', 'human', 'system'),
    recipient,
    channel_id: optional(id),
    reply_to: optional(id),
    conversation_id: optional(name),
    is_flagged: flag,
    created_at: past,
    is_sanitized: flag,
    hops: count,
    shared_with: optional(line),
    is_edited: flag,
    via: optional(oneOf('slack', 'hook')),
    text: body,
    details: optional(details),
    is_held: flag,
  },
  part: {
    id: textLike('the id of a part', (value) => isId(value.slice(0, 36)) && /^\.[\w.-]{1,200}$/.test(value.slice(36))),
    message_id: id,
    media_type: line,
    encoding: oneOf('utf8', 'base64', 'upload'),
    content: text(jsonLimits.maxBytes),
    bytes: count,
  },
  held_message: {
    id,
    message_id: id,
    sender_id: id,
    recipient_id: id,
    task_id: optional(id),
    state: oneOf('held', 'approved', 'refused', 'expired', 'retracted', 'joined'),
    rule: holdingRule,
    findings,
    delivery: heldDelivery,
    sent_at: past,
    held_at: past,
    expires_at: time,
    decided_at: optional(past),
    decided_by: optional(id),
    decider: optional(name),
    reason: optional(line),
    is_edited: flag,
  },
  delivery: {
    agent_id: id,
    message_id: id,
    state: oneOf('unread', 'read', 'parked', 'task', 'withdrawn', 'expired', 'retracted'),
    chars: count,
    created_at: past,
    read_at: optional(past),
    lease_id: optional(id),
    returns: count,
    woken_at: optional(past),
    is_flagged: flag,
    task_id: optional(id),
    expires_at: optional(time),
    text: optional(body),
    details: optional(details),
  },
  return: { agent_id: id, message_id: id, position: count, leased_at: past, returned_at: past },
  upload: {
    id,
    agent_id: id,
    filename: optional(text(255)),
    media_type: optional(line),
    bytes: count,
    received_bytes: count,
    message_id: optional(id),
    created_at: past,
  },
  upload_piece: {
    upload_id: id,
    position: count,
    content: textLike('up to 64 KiB in base64', (value) => value.length <= 90_000 && isBase64(value)),
  },
  task: {
    id,
    client_id: id,
    recipient_id: id,
    recipient_alias: alias,
    message_id: id,
    conversation_id: name,
    context_id: name,
    mode: oneOf('receipt', 'task', 'message'),
    state: taskState,
    status_at: past,
    events: count,
    created_at: past,
    expires_at: optional(time),
  },
  task_message: { task_id: id, message_id: id, role: oneOf('user', 'agent', 'result') },
  task_event: {
    task_id: id,
    position: count,
    // The event's own id, or the id of its origin.
    id: name,
    at: past,
    state: optional(taskState),
    message_id: optional(id),
    reason: optional(text(4_000)),
  },
  artifact_chunk: {
    task_id: id,
    position: count,
    artifact_id: line,
    is_appended: flag,
    is_last: flag,
    name: optional(line),
    parts: optional(jsonList),
  },
  context: { agent_id: id, context_id: name, recipient_id: id, conversation_id: name, used_at: past },
  lease: { agent_id: id, id, created_at: past, expires_at: optional(time) },
  verdict: {
    id,
    guardrail_id: id,
    guardrail_name: name,
    direction: oneOf('inbound', 'outbound'),
    action: outcomes,
    kinds: json('a list of texts as JSON', areTexts),
    agent_ids: jsonIds,
    sender_alias: alias,
    recipient,
    message_id: optional(id),
    conversation_hash: optional(hash),
    text_hash: hash,
    text: optional(text(jsonLimits.maxBytes)),
    created_at: past,
  },
  guardrail_count: { guardrail_id: id, hour: past, action: outcomes, count },
  activity_entry: {
    position: count,
    id,
    created_at: past,
    actor_type: oneOf('admin', 'user', 'agent', 'system'),
    user_id: optional(name),
    credential_id: optional(name),
    credential_kind: optional(name),
    call: name,
    arguments: anyJson,
    outcome: name,
    request_id: optional(name),
  },
}

/**
 * Fails with `invalid_input` if this program cannot read the archive's version. `version` is undefined for archives
 * without one.
 */
export function checkVersion(version: unknown): void {
  if (version === archiveVersion) return
  const why = Number(version) > archiveVersion
    ? `The archive has version ${
      Number(version)
    } of the format, and this program reads version ${archiveVersion}. Import it with ` +
      'a newer version of agent-grid.'
    : 'The archive was made by a program from before version 1 of the format, which cannot be read. Export the account again ' +
      'with a newer version of agent-grid.'
  throw new GridError('invalid_input', why)
}

/**
 * Fails with `invalid_input` if the format does not have the record or a field, or if the product would never produce
 * one of the values. A field that an older format version lacks may be absent.
 */
export function checkArchived(record: string, row: unknown, now: number): asserts row is ArchivedRow {
  const checks = Object.hasOwn(validators, record) ? validators[record] : undefined
  if (checks === undefined) throw refused(`The format has no record ${record}.`)
  if (!isObject(row)) throw refused(`A record ${record} is not an object.`)
  for (const [field, value] of Object.entries(row)) {
    if (!Object.hasOwn(checks, field)) throw refused(`The format has no field ${field} in ${record}.`)
    const needed = checks[field](value, now)
    if (needed !== undefined) throw refused(`${record}.${field} must be ${needed}.`)
  }
}

/**
 * Parses a line between the first and the last. Fails like `checkArchived`. The line must match an export's output
 * exactly.
 */
export function checkArchivedLine(line: string, now: number): [record: string, row: ArchivedRow] {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = undefined
  }
  const [record, row] = Array.isArray(value) && value.length === 2 ? value : []
  // The account's record is only allowed in the manifest.
  if (typeof record !== 'string' || record === 'account' || JSON.stringify(value) !== line) {
    throw refused('It has a line that is not a record.')
  }
  checkArchived(record, row, now)
  return [record, row]
}

function refused(why: string): GridError {
  return new GridError('invalid_input', `The archive was not made by a grid. ${why}`)
}

function isBase64(value: string): boolean {
  try {
    fromBase64(value)
    return true
  } catch {
    return false
  }
}
