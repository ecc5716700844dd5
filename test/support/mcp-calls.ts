/** Arbitrary calls of every tool, with valid and invalid arguments. */
import fc from 'fast-check'

export const callers = ['agent', 'admin', 'signup'] as const
export type Caller = (typeof callers)[number]

/** A `tools/list` or `tools/call` request. */
export interface PlainCall {
  method: string
  params?: Record<string, unknown>
  /** The caller does not have the tool. */
  isUnknown?: boolean
}

const text = fc.oneof(fc.constantFrom('bob', '@bob', 'alice', '#general', 'nobody', ''), fc.string())

/** Placeholder for the id of bob, which differs between grids. */
export const bobsId = '<id of bob>'

const newName = fc.constantFrom('zoe', 'tim', 'tom', 'eve', 'general', 'admin', '@zoe')
// Calls change agents that stay, and delete agents that other calls created, so most calls succeed.
const agentRef = fc.constantFrom({ alias: 'bob' }, { alias: '@Bob' }, { id: bobsId }, { id: 'eve' }, {}, {
  id: bobsId,
  alias: 'bob',
})
const channelRef = fc.constantFrom({ name: 'general' }, { name: '#General' }, { id: 'none' }, {})
const createdAgent = fc.constantFrom({ alias: 'zoe' }, { alias: '@tim' }, { id: 'eve' }, {})
const createdChannel = fc.constantFrom({ name: 'zoe' }, { name: '#tim' }, { id: 'none' }, {})
const members = fc.array(fc.constantFrom('bob', '@Bob', bobsId, 'alice', 'zoe', 'eve', ''), { maxLength: 3 })
const skills = fc.array(fc.oneof(text, fc.record({ name: text, description: text }, { requiredKeys: ['name'] })), {
  maxLength: 3,
})
const guardrails = fc.array(
  fc.oneof(
    fc.constantFrom('short', 'none'),
    fc.record({
      name: fc.constantFrom('short', 'none'),
      direction: fc.constantFrom('both', 'inbound', 'sideways'),
      action: fc.constantFrom('flag', 'shout'),
    }, { requiredKeys: ['name'] }),
  ),
  { maxLength: 3 },
)
const page = fc.record({ limit: fc.integer({ min: -1, max: 3 }), cursor: text }, { requiredKeys: [] })

/** Arguments that name an agent or a channel in one of several ways. */
function withRef(ref: fc.Arbitrary<object>, more: Record<string, fc.Arbitrary<unknown>> = {}) {
  return fc.tuple(ref, fc.record(more)).map(([named, rest]) => ({ ...named, ...rest }))
}

const argumentsOf: Record<string, fc.Arbitrary<Record<string, unknown>>> = {
  send_message: fc.record({ to: text, message: fc.string(), idempotency_key: fc.constantFrom('a', 'b') }, {
    requiredKeys: ['to', 'message'],
  }),
  read_messages: fc.record({
    limit: fc.integer({ min: -1, max: 60 }),
    max_chars: fc.integer({ min: -1, max: 200 }),
    since: fc.constantFrom('last_batch', '1h', 'soon'),
    peek: fc.boolean(),
    message_id: fc.constantFrom('none', ''),
    offset: fc.integer({ min: -1, max: 5 }),
    // No valid wait above 0, which would take its time.
    wait_seconds: fc.constantFrom(0, -1, 51, 0.5, '5'),
  }, { requiredKeys: [] }),
  message_status: fc.record({ message_id: text }),
  list_agents: fc.record({ search: text, public: fc.boolean(), cursor: text }, { requiredKeys: [] }),
  list_channels: fc.record({ cursor: text }, { requiredKeys: [] }),
  list_skills: fc.record({ agent: text, cursor: text }, { requiredKeys: [] }),
  set_skills: fc.record({ skills: fc.array(fc.record({ name: text, description: text }, { requiredKeys: ['name'] })) }),
  read_part: fc.record({ part_id: text, offset: fc.integer({ min: -1, max: 5 }) }, { requiredKeys: ['part_id'] }),
  update_task: fc.record({
    task_id: text,
    message_id: text,
    state: fc.constantFrom('working', 'completed', 'submitted', ''),
    text,
    parts: fc.array(fc.record({ text, raw: text }, { requiredKeys: [] })),
    artifact: fc.record({ id: text, name: text, append: fc.boolean() }, { requiredKeys: ['id'] }),
  }, { requiredKeys: [] }),
  signup: fc.record({
    owner_email: fc.constantFrom('zoe@example.com', 'zoe'),
    alias: fc.constantFrom('zoe', 'Zoe', 'alice'),
  }),
  admin_list_agents: page,
  admin_list_channels: page,
  admin_list_skills: fc.record({ cursor: text }, { requiredKeys: [] }),
  admin_list_guardrails: fc.record({ cursor: text }, { requiredKeys: [] }),
  admin_list_guardrail_providers: fc.constant({}),
  admin_create_agent: fc.record({
    alias: newName,
    type: fc.constantFrom('mcp', 'human', 'a2a', 'robot'),
    visibility: fc.constantFrom('private', 'public'),
    remoteUrl: fc.constantFrom('https://remote.example/a2a', 'ftp://x'),
    skills,
  }, { requiredKeys: ['alias'] }),
  admin_delete_agent: withRef(createdAgent),
  admin_create_channel: fc.record({ name: newName, description: text, members }, { requiredKeys: ['name'] }),
  admin_delete_channel: withRef(createdChannel),
  admin_set_agent_skills: withRef(agentRef, { skills }),
  admin_set_agent_guardrails: withRef(agentRef, { guardrails }),
  admin_set_channel_members: withRef(channelRef, { members }),
}

const isAdminTool = (name: string) => name.startsWith('admin_')
const names = Object.keys(argumentsOf)

/** The tools of each kind of caller. */
export const toolsOf: Record<Caller, string[]> = {
  agent: names.filter((name) => name !== 'signup' && !isAdminTool(name)),
  admin: names.filter(isAdminTool),
  signup: ['signup'],
}

/** A list request, a call with valid or invalid arguments, or a call of a tool that the caller does not have. */
export function plainCall(caller: Caller): fc.Arbitrary<PlainCall> {
  const list = fc.constantFrom<PlainCall>({ method: 'tools/list' }, { method: 'tools/list', params: {} })
  const known = toolsOf[caller]
  const unknown = fc.constantFrom(...names, 'constructor')
    .filter((name) => !known.includes(name))
    .map((name) => ({ method: 'tools/call', params: { name, arguments: {} }, isUnknown: true }))
  const calls = known.map((name) =>
    fc.oneof({ weight: 4, arbitrary: argumentsOf[name] }, { weight: 1, arbitrary: fc.object() })
      .map((args) => ({ method: 'tools/call', params: { name, arguments: args } }))
  )
  return fc.oneof(list, unknown, ...calls)
}
