/**
 * The interface that programs use, as the current code defines it. `npm run lab -- released` saves it for each release.
 */
import { codec03 } from '../../src/a2a/codec-03.ts'
import { codec10 } from '../../src/a2a/codec-10.ts'
import { commands } from '../../src/cli/commands.ts'
import type { Command } from '../../src/cli/command.ts'
import { describeSettings } from '../../src/cli/settings.ts'
import { settings, type SettingTable } from '../../src/config/settings.ts'
import { errorKinds } from '../../src/errors.ts'
import { featureSettings } from '../../src/features.ts'
import { Metrics } from '../../src/features/telemetry/metrics.ts'
import { webhookEvents } from '../../src/features/webhooks/webhooks.ts'
import { adminReadTools } from '../../src/mcp/admin-read-tools.ts'
import { adminWriteTools } from '../../src/mcp/admin-write-tools.ts'
import { agentTools } from '../../src/mcp/agent-tools.ts'
import { listedPrompts } from '../../src/mcp/prompts.ts'
import { legacyRevisions, modernRevisions } from '../../src/mcp/protocol.ts'
import { listedResources } from '../../src/mcp/resources.ts'
import { toolCatalog } from '../../src/mcp/tool.ts'
import { signupTool } from '../../src/mcp/toolset.ts'
import { openApiDocument } from '../../src/rest/openapi.ts'
import { restRoutes } from '../../src/rest/routes.ts'
import { httpStatus } from '../../src/wire.ts'
import { followLog } from '../../src/worker/followers.ts'
import { type Interface, type Schema, schemaOf } from './breaking-changes.ts'
import { storeOf, testGrid } from './grid.ts'
import { callTool, sendWire, signupPath, toolResult, wireRequest } from './mcp.ts'
import { routesOf } from './routes.ts'
import { askFor } from './tasks.ts'
import { webhookData } from './webhook-events.ts'

const metricsToken = 'token-of-prometheus'

/** Formats an interface as a file with one line per part, for readable diffs. */
export function interfaceText(given: Interface): string {
  const lines = (part: object) =>
    Object.entries(part).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',\n')
  return `{${
    Object.entries(given).map(([name, part]) => `${JSON.stringify(name)}:{\n${lines(part)}\n}`).join(',\n')
  }}\n`
}

/** Returns this program's interface. Calls each tool once. */
export async function currentInterface(): Promise<Interface> {
  const grid = await testGrid({ env: { METRICS_TOKEN: metricsToken } })
  const rest = interfaceOfRest()
  const tools = [
    ...toolCatalog(agentTools).listed,
    ...toolCatalog([...adminReadTools, ...adminWriteTools]).listed,
    ...toolCatalog([signupTool]).listed,
  ]
  const metrics = await grid.request('/metrics', { headers: { Authorization: `Bearer ${metricsToken}` } })
  const schemasOf = (kind: string, answers: Map<string, unknown[]>) =>
    Object.fromEntries([...answers].map(([name, given]) => [`${kind} ${name}`, schemaOf(given)]))
  const answers = {
    ...rest.answers,
    ...schemasOf('tool', await answersOfTools(grid)),
    ...schemasOf('webhook', await webhookData()),
  }
  const found = {
    inputs: {
      ...rest.inputs,
      ...Object.fromEntries(tools.map(({ name, inputSchema }) => [`tool ${name}`, inputSchema])),
      ...Object.fromEntries(commands.map((command) => [`command ${command.name}`, optionsOf(command)])),
    },
    answers,
    lists: {
      ...rest.errors,
      addresses: [
        ...new Set(
          routesOf(grid).map(({ method, path }) => `${method} ${path}`)
            .filter((route) =>
              / \/(mcp|a2a|api|in\/|oauth\/(?!c)|\.well-known|healthz|readyz|metrics|llms|join\.md|agent-grid)/.test(
                route,
              )
            ),
        ),
      ].sort(),
      errors: Object.entries(errorKinds).map(([code, kind]) => `${httpStatus[kind]} ${code}`).sort(),
      // If a default is a list, none of its values may be removed.
      settings: describeSettings().flatMap(({ name, fallback }) =>
        fallback.split(',').map((value) => `${name} = ${value}`)
      ),
      'earlier names of settings': [settings, ...featureSettings.map(({ table }) => table)]
        .flatMap((table: SettingTable) => Object.values(table)).flatMap(({ formerly }) => formerly ?? []),
      webhooks: [...webhookEvents, 'test'],
      'revisions of MCP': [...legacyRevisions, ...modernRevisions],
      'revisions of A2A': [codec03, codec10].map(({ version }) => version),
      prompts: listedPrompts.map(({ name }) => name),
      resources: listedResources.map(({ uri }) => uri),
      metrics: [...(await metrics.text()).matchAll(/^# TYPE (.+)$/gm)].map(([, metric]) => metric),
      'labels of metrics': await metricLabels(),
    },
    schemas: rest.schemas,
  }
  await grid.close()
  return withoutProse(found) as Interface
}

/** Returns the labels of all metrics, each as `NAME LABEL`. */
async function metricLabels(): Promise<string[]> {
  const metrics = new Metrics()
  metrics.call({ door: 'rest', verb: 'send', code: 'unavailable', ms: 1 })
  metrics.check('local', 'passed', 1)
  metrics.attempt('webhook', true)
  const text = await metrics.text({
    ...{ now: 1, unread: 0, waitingSince: null, leases: 0, dueOutboxes: 0, waitingUnits: 0, pausedServers: 0 },
    longestDelayMs: 0,
  })
  const labels = [...text.matchAll(/^(\w+?)(?:_bucket|_sum|_count|_total)?\{(.*?)\}/gm)].flatMap(([, name, pairs]) =>
    [...pairs.matchAll(/(\w+)="/g)].filter(([, label]) => label !== 'le').map(([, label]) => `${name} ${label}`)
  )
  return [...new Set(labels)].sort()
}

function interfaceOfRest(): Interface & { errors: Record<string, string[]> } {
  // deno-lint-ignore no-explicit-any -- a document of JSON
  const document = openApiDocument(restRoutes, ['http://localhost']) as any
  const found = { inputs: {}, answers: {}, lists: {}, errors: {}, schemas: document.components.schemas } as
    & Interface
    & {
      errors: Record<string, string[]>
    }
  for (const [path, ofPath] of Object.entries<Record<string, never>>(document.paths)) {
    // deno-lint-ignore no-explicit-any -- as above
    for (const [method, operation] of Object.entries<any>(ofPath)) {
      const name = `${method.toUpperCase()} ${path}`
      const { parameters = [], requestBody, responses, security = [] } = operation
      const fields = parameters.map((p: { in: string; name: string; required: boolean; schema: Schema }) => ({
        ...p,
        name: `${p.in} ${p.name}`,
      }))
      if (requestBody) fields.push({ name: 'body', required: requestBody.required, schema: contentOf(requestBody) })
      found.inputs[name] = objectOf(fields)
      found.errors[`errors of ${name}`] = []
      for (const [status, response] of Object.entries<{ headers?: object; content?: object }>(responses)) {
        const schema = contentOf(response)
        if (Number(status) < 400) {
          const headers = Object.keys(response.headers ?? {}).map((name) => ({ name: `header ${name}`, schema: {} }))
          found.answers[`${name} ${status}`] = objectOf([...headers, { name: 'body', required: true, schema }])
        } else {
          const { code } = schema.properties!.error.properties!
          found.errors[`errors of ${name}`].push(...code.enum!.map((code) => `${status} ${code}`))
        }
      }
      found.lists[`credential of ${name}`] = security.flatMap(Object.keys)
    }
  }
  found.errors = { ...found.errors, ...found.lists }
  return found
}

function contentOf({ content = {} }: { content?: object }): Schema {
  const [[type, { schema }] = ['none', {}]] = Object.entries<{ schema?: Schema }>(content as never)
  return schema ?? { const: type }
}

function objectOf(fields: { name: string; required?: boolean; schema: Schema }[]): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  }
}

function optionsOf({ options, operands = [], words }: Command): Schema {
  const fields = Object.entries(options).flatMap(([name, { required, oneOf, flag, file, env }]) => {
    const schema: Schema = flag ? { type: 'boolean' } : { type: 'string', ...(oneOf && { enum: [...oneOf] }) }
    const option = operands.includes(name) ? `${operands.indexOf(name) + 1} ${name}` : `--${name}`
    return [
      // The option is not required if its value may come from a file or a variable.
      { name: option, required: required && file === undefined && env === undefined, schema },
      ...(file ? [{ name: `--${file}`, schema: { type: 'string' } }] : []),
      ...(env ? [{ name: env, schema: { type: 'string' } }] : []),
    ]
  })
  return objectOf([
    ...fields,
    { name: '--json', schema: { type: 'boolean' } },
    ...(words ? [{ name: '--', schema: {} }] : []),
  ])
}

/** Returns the schema without parts that programs do not read, and without limits that only express number types. */
function withoutProse(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((entry) => withoutProse(entry))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name, field]) =>
    isNames || !['description', 'title'].includes(name) && Math.abs(Number(field)) !== Number.MAX_SAFE_INTEGER
  )
  return Object.fromEntries(kept.map(([name, field]) => [name, withoutProse(field, name === 'properties')]))
}

/** Records each tool's results during a typical day of Alice, Bob and an admin. */
async function answersOfTools(grid: Awaited<ReturnType<typeof testGrid>>): Promise<Map<string, unknown[]>> {
  const answers = new Map<string, unknown[]>()
  const call = async (key: string, tool: string, args: Record<string, unknown> = {}) => {
    const { whole, code } = await callTool(grid, key, tool, args)
    if (code !== undefined) throw new Error(`${tool} failed: ${JSON.stringify(whole)}`)
    answers.set(tool, [...answers.get(tool) ?? [], whole])
    return whole
  }
  const { alice, bob, acme: { adminKey: admin } } = grid

  await call(admin, 'admin_create_channel', { name: 'build', description: 'Builds', members: ['alice', 'bob'] })
  await call(admin, 'admin_set_channel_members', { name: 'build', members: ['alice', 'bob'] })
  await call(admin, 'admin_set_agent_skills', { alias: 'bob', skills: ['review'] })
  await call(admin, 'admin_set_agent_guardrails', { alias: 'bob', guardrails: [] })
  await call(admin, 'admin_create_agent', { alias: 'carol', description: 'Tests', skills: ['test'] })
  for (const list of ['agents', 'channels', 'skills', 'guardrails', 'guardrail_providers']) {
    await call(admin, `admin_list_${list}`)
  }
  await call(alice.key, 'set_skills', { skills: [{ name: 'write', description: 'Writes' }] })
  const more = { text: 'x'.repeat(60_000) }
  const sent = await call(alice.key, 'send_message', { to: '@bob', message: 'a green build', parts: [more] })
  await call(alice.key, 'send_message', { to: '#build', message: 'news' })
  const second = await call(alice.key, 'send_message', { to: '@carol', message: 'too early' })
  await call(alice.key, 'message_status', { message_id: sent.message_id })
  await call(alice.key, 'retract_message', { message_id: second.message_id })
  const task = await askFor(storeOf(grid, alice), 'Test this')
  await call(bob.key, 'read_messages', { peek: true })
  const { messages } = await call(bob.key, 'read_messages')
  const [{ parts: [{ part_id }] }] = messages
  await call(bob.key, 'read_part', { part_id })
  await call(bob.key, 'update_task', { task_id: task.id, state: 'completed', text: 'done' })
  await call(bob.key, 'send_message', { to: '@alice', message: 'thanks', reply_to_message_id: sent.message_id })
  await followLog(grid.store)
  await call(bob.key, 'search_messages', { query: 'green' })
  await call(bob.key, 'reserve', { names: ['src/'], note: 'tests' })
  await call(bob.key, 'list_reservations')
  await call(bob.key, 'reserve', { names: ['src/'], release: true })
  for (const list of ['agents', 'channels', 'skills']) await call(bob.key, `list_${list}`)
  await call(admin, 'admin_delete_channel', { name: 'build' })
  await call(admin, 'admin_delete_agent', { alias: 'carol' })
  const signup = wireRequest('legacy', 'tools/call', {
    name: 'signup',
    arguments: { alias: 'newcomer', owner_email: 'new@comers.example' },
  })
  const { body } = await sendWire(grid, undefined, signup, signupPath)
  return answers.set('signup', [toolResult(body.result, 'signup').whole])
}
