/**
 * Every call that a program can make with a credential: the MCP tools, the REST operations, and the A2A methods that
 * accept names. The calls are derived from the registries, so the isolation and role matrices and the fuzz test's
 * corpus cover every new tool or route.
 */
import * as z from 'zod'
import { adminReadTools } from '../../src/mcp/admin-read-tools.ts'
import { adminWriteTools } from '../../src/mcp/admin-write-tools.ts'
import { agentTools } from '../../src/mcp/agent-tools.ts'
import type { Caller } from '../../src/rest/route.ts'
import { restRoutes } from '../../src/rest/routes.ts'

/** The parts of a JSON Schema that this module uses. */
interface Schema {
  type?: string
  enum?: string[]
  minimum?: number
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
}

export interface Call {
  door: 'mcp' | 'rest' | 'a2a'
  /** The name of a tool, a route such as `GET /api/v1/parts/{id}`, or an A2A method. */
  name: string
  caller: Caller
  schema: Schema
}

export type Args = Record<string, unknown>

/** Values for a valid call's arguments, by field name, or by call and field. Other fields get the value `x`. */
export type Names = Record<string, string | string[]>

const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as Schema
const text = { type: 'string' }

const toolCalls = ([[agentTools, 'agent'], [[...adminReadTools, ...adminWriteTools], 'admin']] as const)
  .flatMap(([tools, caller]) =>
    tools.map(({ name, input }): Call => ({ door: 'mcp', name, caller, schema: jsonSchema(input) }))
  )

const restCalls = restRoutes.flatMap(({ method, path, caller, parameters = {}, query, body }): Call[] => {
  if (!caller) return []
  const inputs = [query, body].filter((schema) => schema !== undefined).map(jsonSchema)
  const schema = {
    properties: Object.assign(
      Object.fromEntries(Object.keys(parameters).map((name) => [name, text])),
      ...inputs.map(({ properties }) => properties),
    ),
    required: [...Object.keys(parameters), ...inputs.flatMap(({ required = [] }) => required)],
  }
  return [{ door: 'rest', name: `${method} ${path}`, caller, schema }]
})

const object = (fields: string[], required: string[] = []): Schema => ({
  type: 'object',
  properties: Object.fromEntries(
    fields.map((name) => name.endsWith('[]') ? [name.slice(0, -2), { type: 'array', items: text }] : [name, text]),
  ),
  required,
})
const messageSchema = object(['taskId', 'contextId', 'messageId', 'referenceTaskIds[]'], ['metadata'])
messageSchema.properties!.metadata = object(['to'], ['to'])
const a2aCalls = Object.entries({
  // The schema of a send is the schema of its message.
  SendMessage: messageSchema,
  'message/send': messageSchema,
  GetTask: object(['id'], ['id']),
  CancelTask: object(['id'], ['id']),
  SubscribeToTask: object(['id'], ['id']),
  ListTasks: object(['contextId', 'tenant', 'pageToken']),
}).map(([name, schema]): Call => ({ door: 'a2a', name, caller: 'agent key', schema }))

export const calls: readonly Call[] = [...toolCalls, ...restCalls, ...a2aCalls]

/** Arguments that valid calls need although their schemas do not require them. */
const moreArguments: Record<string, Args> = {
  update_task: { state: 'working' },
  reserve: { names: ['src/**'], shared: true },
  'POST /api/v1/reservations': { names: ['src/**'], shared: true },
}

/** Groups of alternative fields. A call that has all fields of a group needs one of them. */
const alternatives = [['alias', 'id'], ['name', 'id'], ['task_id', 'message_id']]

/** Returns a valid call's arguments: the required ones, and the first of each group of alternatives. */
export function validArguments({ name, schema }: Call, names: Names): Args {
  const { properties = {}, required = [] } = schema
  const chosen = alternatives.filter((fields) => fields.every((field) => field in properties))
  const wanted = [...required, ...chosen.map(([field]) => field)]
  return { ...argumentsOf(name, properties, wanted, names), ...moreArguments[name] }
}

/** Like `validArguments`, but with every field, for the fuzz test. */
export function allArguments({ name, schema: { properties = {} } }: Call, names: Names): Args {
  return argumentsOf(name, properties, Object.keys(properties), names)
}

function argumentsOf(call: string, properties: Record<string, Schema>, fields: string[], names: Names): Args {
  return Object.fromEntries(fields.map((field) => [field, sampleOf(call, properties[field], field, names)]))
}

function sampleOf(call: string, schema: Schema, field: string, names: Names): unknown {
  const own = names[`${call} ${field}`] ?? names[field]
  if (schema.anyOf) return sampleOf(call, schema.anyOf[0], field, names)
  if (schema.enum) return schema.enum[0]
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  if (schema.type === 'boolean') return true
  if (schema.type === 'array') return own === undefined ? [sampleOf(call, schema.items!, field, names)] : [own].flat()
  if (schema.type === 'object') return argumentsOf(call, schema.properties ?? {}, schema.required ?? [], names)
  return own ?? 'x'
}

/** Returns the paths of a call's free texts, such as `id`, `members[]` or `guardrails[].name`. */
export function textPaths({ schema }: Call): string[] {
  return pathsIn(schema, '')
}

function pathsIn(schema: Schema, path: string): string[] {
  if (schema.type === 'string') return schema.enum ? [] : [path]
  const below = [
    ...Object.entries(schema.properties ?? {}).map(([name, inner]) => pathsIn(inner, path ? `${path}.${name}` : name)),
    ...(schema.anyOf ?? []).map((inner) => pathsIn(inner, path)),
    ...(schema.items ? [pathsIn(schema.items, `${path}[]`)] : []),
  ]
  return [...new Set(below.flat())]
}

/** Returns a valid call's arguments with `value` at a path. In a list, `value` is next to valid values. */
export function argumentsWith(call: Call, names: Names, path: string, value: string): Args {
  const args = validArguments(call, names)
  const rivals = alternatives.filter((fields) => fields.includes(path)).flat()
  for (const rival of rivals) delete args[rival]
  put(call, args, call.schema, path.split('.'), value, names)
  return args
}

function put(call: Call, args: Args, schema: Schema, [step, ...rest]: string[], value: string, names: Names): void {
  const field = step.replace('[]', '')
  const inner = schema.properties![field]
  const below = (schema: Schema) => {
    if (rest.length === 0) return value
    const holder = sampleOf(call.name, schema, field, names) as Args
    put(call, holder, schema, rest, value, names)
    return holder
  }
  if (!step.endsWith('[]')) return void (args[field] = below(inner))
  const items = inner.items!
  const own = names[`${call.name} ${field}`] ?? names[field]
  const [first, ...others] = Array.isArray(own) ? own.filter((one) => one !== value) : []
  const element = below(items.anyOf?.find(({ properties }) => properties) ?? items)
  args[field] = first === undefined ? [element] : [first, element, ...others]
}
