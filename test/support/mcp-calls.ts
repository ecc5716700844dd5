/** Calls of every tool, with arguments good and bad, made by fast-check. */
import fc from 'fast-check'

export const callers = ['agent', 'admin', 'signup'] as const
export type Caller = (typeof callers)[number]

/** A request that asks for a plain answer. */
export interface PlainCall {
  method: string
  params?: Record<string, unknown>
  /** It calls a tool that the caller does not have. */
  isUnknown?: boolean
}

const text = fc.oneof(fc.constantFrom('bob', '@bob', 'alice', '#general', 'nobody', ''), fc.string())

/** Stands for an id, which differs from grid to grid. */
export const bobsId = '<id of bob>'

const newName = fc.constantFrom('zoe', 'tim', 'tom', 'eve', 'general', 'admin', '@zoe')
// What is set stays, and what is deleted was made by the calls themselves: so most calls do something.
const agentRef = fc.constantFrom({ alias: 'bob' }, { alias: '@Bob' }, { id: bobsId }, { id: 'eve' }, {}, {
  id: bobsId,
  alias: 'bob',
})
const channelRef = fc.constantFrom({ name: 'general' }, { name: '#General' }, { id: 'none' }, {})
const madeAgent = fc.constantFrom({ alias: 'zoe' }, { alias: '@tim' }, { id: 'eve' }, {})
const madeChannel = fc.constantFrom({ name: 'zoe' }, { name: '#tim' }, { id: 'none' }, {})
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

/** Arguments with one of several ways to name an agent or a channel. */
function naming(ref: fc.Arbitrary<object>, more: Record<string, fc.Arbitrary<unknown>> = {}) {
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
    // A wait in earnest takes its time.
    wait_seconds: fc.constantFrom(0, -1, 51, 0.5, '5'),
  }, { requiredKeys: [] }),
  message_status: fc.record({ message_id: text }),
  list_agents: fc.record({ search: text, public: fc.boolean() }, { requiredKeys: [] }),
  list_channels: fc.constant({}),
  list_skills: fc.record({ agent: text }, { requiredKeys: [] }),
  set_skills: fc.record({ skills: fc.array(fc.record({ name: text, description: text }, { requiredKeys: ['name'] })) }),
  signup: fc.record({
    owner_email: fc.constantFrom('zoe@example.com', 'zoe'),
    alias: fc.constantFrom('zoe', 'Zoe', 'alice'),
  }),
  admin_list_agents: page,
  admin_list_channels: page,
  admin_list_skills: fc.constant({}),
  admin_list_guardrails: fc.constant({}),
  admin_list_guardrail_providers: fc.constant({}),
  admin_create_agent: fc.record({
    alias: newName,
    type: fc.constantFrom('mcp', 'human', 'a2a', 'robot'),
    visibility: fc.constantFrom('private', 'public'),
    remoteUrl: fc.constantFrom('https://remote.example/a2a', 'ftp://x'),
    skills,
  }, { requiredKeys: ['alias'] }),
  admin_delete_agent: naming(madeAgent),
  admin_create_channel: fc.record({ name: newName, description: text, members }, { requiredKeys: ['name'] }),
  admin_delete_channel: naming(madeChannel),
  admin_set_agent_skills: naming(agentRef, { skills }),
  admin_set_agent_guardrails: naming(agentRef, { guardrails }),
  admin_set_channel_members: naming(channelRef, { members }),
}

const isAdminTool = (name: string) => name.startsWith('admin_')
const names = Object.keys(argumentsOf)

/** The tools that are called, by caller. */
export const toolsOf: Record<Caller, string[]> = {
  agent: names.filter((name) => name !== 'signup' && !isAdminTool(name)),
  admin: names.filter(isAdminTool),
  signup: ['signup'],
}

/** A list, a call of a tool with arguments good and bad, or a call of a tool that the caller does not have. */
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
