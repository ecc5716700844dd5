/** What every parameter of every tool names: the rows of the isolation matrix. See `isolation-matrix.ts`. */

/** The ways to name something of an account. */
const forms = [
  'agent id',
  'agent alias',
  '@alias',
  'channel id',
  'channel name',
  '#channel',
  'guardrail id',
  'guardrail name',
  'message id',
  'skill id',
  'skill name',
  'idempotency key',
  'part id',
  'task id',
  'credential id',
  'account id',
  'user id',
] as const
export type Form = (typeof forms)[number]

/** The forms that still name something after its deletion. */
const deletableForms: readonly Form[] = forms.slice(0, 6)

/** The account of the named thing, and whether it is deleted. */
export type State = 'own' | 'foreign' | 'deleted own' | 'deleted foreign' | 'random' | 'empty'

/** An error code, or `ok`. */
type Outcome = string

/** A parameter that names something. A form that it does not take is answered like a random value. */
export interface NamingParameter {
  /** The forms it takes. */
  takes: readonly Form[]
  /** For a value of the own account in those forms. Default: `ok`. */
  own?: Outcome
  /** For a random value in the first of those forms. */
  random: Outcome
  /** For the empty text. */
  empty: Outcome
  /** The forms whose foreign value is answered differently from a random one, and the outcome. */
  foreign?: Partial<Record<Form, Outcome>>
}

export interface ToolRow {
  /** Arguments of a valid call, to which the parameter is added. */
  args: Record<string, unknown>
  /** Alternative parameters for the subject of the call. A case for one of them removes the others from `args`. */
  subject?: string[]
  /** Every text parameter of the tool, by its path. `text` names nothing. */
  parameters: Record<string, NamingParameter | 'text'>
}

const agentForms: Form[] = ['agent id', 'agent alias', '@alias']
const channelForms: Form[] = ['channel id', 'channel name', '#channel']
const guardrailForms: Form[] = ['guardrail id', 'guardrail name']

const agent: NamingParameter = { takes: agentForms, random: 'agent_not_found', empty: 'invalid_input' }
const channel: NamingParameter = { takes: channelForms, random: 'channel_not_found', empty: 'invalid_input' }
const guardrail: NamingParameter = { takes: guardrailForms, random: 'guardrail_not_found', empty: 'invalid_input' }
const skill: NamingParameter = { takes: ['skill name'], random: 'ok', empty: 'invalid_input' }
/** Any text is valid: a cursor or a search text. */
const anyText: NamingParameter = { takes: forms, random: 'ok', empty: 'ok' }
const skills = { 'skills[]': skill, 'skills[].name': skill, 'skills[].description': 'text' } as const

const agentSubject = { subject: ['id', 'alias'] }
const channelSubject = { subject: ['id', 'name'] }

export const adminRows: Record<string, ToolRow> = {
  admin_list_agents: { args: {}, parameters: { cursor: anyText } },
  admin_list_channels: { args: {}, parameters: { cursor: anyText } },
  admin_list_skills: { args: {}, parameters: { cursor: anyText } },
  admin_list_guardrails: { args: {}, parameters: { cursor: anyText } },
  admin_list_guardrail_providers: { args: {}, parameters: {} },
  admin_create_agent: {
    args: { alias: 'fresh-agent' },
    parameters: {
      alias: {
        takes: ['agent alias', '@alias'],
        own: 'alias_taken',
        random: 'ok',
        empty: 'invalid_alias',
        // Aliases are unique in the whole grid and stay reserved. See docs/security.md, "Account isolation".
        foreign: { 'agent alias': 'alias_taken', '@alias': 'alias_taken' },
      },
      // Stored as given. The aliases need not exist.
      'accessList[]': 'text',
      description: 'text',
      remoteUrl: 'text',
      remoteToken: 'text',
      ...skills,
    },
  },
  admin_delete_agent: { args: { alias: 'mate' }, ...agentSubject, parameters: { id: agent, alias: agent } },
  admin_create_channel: {
    args: { name: 'fresh-channel' },
    parameters: {
      name: { takes: ['channel name', '#channel'], own: 'channel_taken', random: 'ok', empty: 'invalid_input' },
      description: 'text',
      'members[]': agent,
    },
  },
  admin_delete_channel: { args: { name: 'home' }, ...channelSubject, parameters: { id: channel, name: channel } },
  admin_set_agent_skills: {
    args: { alias: 'mate', skills: ['sums'] },
    ...agentSubject,
    parameters: { id: agent, alias: agent, ...skills },
  },
  admin_set_agent_guardrails: {
    args: { alias: 'mate', guardrails: ['own-0'] },
    ...agentSubject,
    parameters: {
      id: agent,
      alias: agent,
      'guardrails[]': guardrail,
      'guardrails[].id': guardrail,
      'guardrails[].name': guardrail,
    },
  },
  admin_set_channel_members: {
    args: { name: 'home', members: ['mate'] },
    ...channelSubject,
    parameters: { id: channel, name: channel, 'members[]': agent },
  },
}

export const agentRows: Record<string, ToolRow> = {
  send_message: {
    args: { to: '@mate', message: 'hi' },
    parameters: {
      to: {
        takes: ['agent alias', '@alias', '#channel'],
        random: 'recipient_not_found',
        empty: 'recipient_not_found',
      },
      message: 'text',
      reply_to_message_id: { takes: ['message id'], random: 'message_not_found', empty: 'message_not_found' },
      idempotency_key: { takes: ['idempotency key'], random: 'ok', empty: 'invalid_input' },
    },
  },
  // A name is not a cursor, and cursors are bound to their agent.
  read_messages: {
    args: {},
    parameters: {
      // The own message is one that the caller sent, not one in its inbox.
      since: {
        takes: ['message id'],
        own: 'message_not_found',
        random: 'message_not_found',
        empty: 'invalid_input',
      },
      message_id: {
        takes: ['message id'],
        own: 'message_not_found',
        random: 'message_not_found',
        empty: 'message_not_found',
      },
    },
  },
  message_status: {
    args: {},
    parameters: {
      message_id: { takes: ['message id'], random: 'message_not_found', empty: 'message_not_found' },
    },
  },
  list_agents: { args: {}, parameters: { search: anyText, cursor: anyText } },
  list_channels: { args: {}, parameters: { cursor: anyText } },
  list_skills: { args: {}, parameters: { agent: { ...agent, empty: 'agent_not_found' }, cursor: anyText } },
  set_skills: { args: { skills: [] }, parameters: { ...skills } },
  read_part: {
    args: {},
    parameters: { part_id: { takes: ['part id'], random: 'part_not_found', empty: 'part_not_found' } },
  },
  update_task: {
    args: { state: 'working' },
    subject: ['task_id', 'message_id'],
    parameters: {
      task_id: { takes: ['task id'], random: 'task_not_found', empty: 'task_not_found' },
      message_id: { takes: ['message id'], own: 'task_not_found', random: 'task_not_found', empty: 'task_not_found' },
      ...{ text: 'text', 'artifact.id': 'text', 'artifact.name': 'text' },
    },
  },
}

/** Over A2A a task belongs to its client. */
const taskOfCaller: NamingParameter = { takes: ['task id'], own: '-32001', random: '-32001', empty: '-32602' }
const taskRow: ToolRow = { args: {}, parameters: { id: taskOfCaller } }

const a2aParameters: ToolRow['parameters'] = {
  'metadata.to': { takes: ['agent alias', '@alias'], random: '-32602', empty: '-32000' },
  // The caller is the recipient of its task. The empty text counts as no id.
  taskId: { ...taskOfCaller, empty: 'ok' },
  contextId: { takes: [], random: 'ok', empty: 'ok' },
  messageId: { takes: [], random: 'ok', empty: '-32602' },
  'referenceTaskIds[]': { takes: [], random: 'ok', empty: 'ok' },
}

/** The A2A methods, with the fields of a message, or of the params of other methods, that can carry a name. */
export const a2aRows: Record<string, ToolRow> = {
  'message/send': { args: { metadata: { to: '@mate' } }, parameters: a2aParameters },
  SendMessage: { args: { metadata: { to: '@mate' } }, parameters: a2aParameters },
  GetTask: taskRow,
  CancelTask: taskRow,
  SubscribeToTask: taskRow,
  ListTasks: {
    args: {},
    parameters: { contextId: anyText, tenant: anyText, pageToken: { takes: [], random: '-32602', empty: 'ok' } },
  },
}

const restGuardrail: NamingParameter = { ...guardrail, empty: 'not_found' }
const newGuardrailName: NamingParameter = {
  // An id would make the name ambiguous.
  takes: ['guardrail name', 'guardrail id'],
  own: 'guardrail_taken',
  random: 'ok',
  empty: 'invalid_input',
}

/** The REST endpoints of admins: a method and a path, whose parameter and fields of the query or the body are named alike. */
export const restRows: Record<string, ToolRow> = {
  'GET /api/v1/guardrails': { args: {}, parameters: { cursor: anyText } },
  'POST /api/v1/guardrails': {
    args: { name: 'fresh-guard', provider: 'pii' },
    parameters: { name: newGuardrailName, provider: 'text', token: 'text' },
  },
  'GET /api/v1/guardrails/:guardrail': { args: { guardrail: 'own-0' }, parameters: { guardrail: restGuardrail } },
  'PATCH /api/v1/guardrails/:guardrail': {
    args: { guardrail: 'own-0', action: 'flag' },
    parameters: { guardrail: restGuardrail, name: newGuardrailName, token: 'text' },
  },
  'DELETE /api/v1/guardrails/:guardrail': { args: { guardrail: 'own-0' }, parameters: { guardrail: restGuardrail } },
}

const ofLease: NamingParameter = { takes: [], random: 'stale_lease', empty: 'not_found' }

/** The REST endpoints of agents, in the same way. */
export const agentRestRows: Record<string, ToolRow> = {
  'GET /api/v1/inbox': { args: {}, parameters: {} },
  'POST /api/v1/inbox/leases': {
    args: {},
    // What the caller cannot read counts as nothing.
    parameters: { 'message_ids[]': anyText, conversation_id: anyText },
  },
  'POST /api/v1/inbox/leases/:lease/extend': { args: { lease: 'x', seconds: 30 }, parameters: { lease: ofLease } },
  'POST /api/v1/inbox/leases/:lease/ack': {
    args: { lease: 'x' },
    parameters: { lease: ofLease, 'message_ids[]': { ...ofLease, empty: 'stale_lease' } },
  },
  'POST /api/v1/inbox/leases/:lease/release': {
    args: { lease: 'x' },
    parameters: { lease: ofLease, 'message_ids[]': { ...ofLease, empty: 'stale_lease' } },
  },
  'POST /api/v1/messages': {
    args: { to: '@mate', message: 'hi' },
    parameters: {
      to: agentRows.send_message.parameters.to,
      message: 'text',
      reply_to_message_id: agentRows.send_message.parameters.reply_to_message_id,
      conversation_id: anyText,
      'acks.lease_id': { ...ofLease, empty: 'stale_lease' },
      'acks.message_ids[]': 'text',
    },
  },
  // DELETE /api/v1/key has its own test, because it ends the key that calls (test/rest/agent-key.test.ts).
  'GET /api/v1/me': { args: {}, parameters: {} },
}

/** All cases of a parameter, including values in forms that it does not take. */
export function casesOf({ takes }: NamingParameter): { state: State; form: Form }[] {
  const first = takes[0] ?? 'agent id'
  return [
    ...forms.map((form) => ({ state: 'own' as const, form })),
    ...forms.map((form) => ({ state: 'foreign' as const, form })),
    ...deletableForms.map((form) => ({ state: 'deleted own' as const, form })),
    ...deletableForms.map((form) => ({ state: 'deleted foreign' as const, form })),
    { state: 'random', form: first },
    { state: 'empty', form: first },
  ]
}

/** The expected outcome, or undefined if the response must equal the one for a random value. */
export function expectedOutcome(parameter: NamingParameter, state: State, form: Form): string | undefined {
  if (state === 'random') return parameter.random
  if (state === 'empty') return parameter.empty
  if (state === 'own' && parameter.takes.includes(form)) return parameter.own ?? 'ok'
  return state.endsWith('foreign') ? parameter.foreign?.[form] : undefined
}

interface JsonSchema {
  type?: string
  enum?: unknown[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: JsonSchema[]
}

/** The paths of all free-text fields in an input schema, for example `id`, `members[]` or `guardrails[].name`. */
export function textPaths(schema: JsonSchema, path = ''): string[] {
  if (schema.type === 'string') return schema.enum ? [] : [path]
  const below = [
    ...Object.entries(schema.properties ?? {}).map(([name, inner]) =>
      textPaths(inner, path ? `${path}.${name}` : name)
    ),
    ...(schema.anyOf ?? []).map((inner) => textPaths(inner, path)),
    ...(schema.items ? [textPaths(schema.items, `${path}[]`)] : []),
  ]
  return [...new Set(below.flat())]
}

/** The other elements of a list. The caller has an agent and a guardrail of each name. */
export const fillers = Array.from({ length: 9 }, (_, n) => `own-${n}`)

/** The arguments of a row with `value` at a path. In a list it is one of ten elements. */
export function withValue(row: ToolRow, path: string, value: string) {
  const args = structuredClone(row.args)
  if (row.subject?.includes(path)) { for (const name of row.subject) delete args[name] }

  const [first, rest] = path.split('.')
  if (first.endsWith('[]')) {
    const list = first.slice(0, -2)
    const own = rest ? fillers.map((name) => ({ name })) : fillers
    args[list] = [...own.slice(0, 5), rest ? { [rest]: value } : value, ...own.slice(5)]
  } else {
    args[first] = rest ? { [rest]: value } : value
  }
  return args
}
