/**
 * Every text that a caller can pass to a tool or a route has a published limit. See docs/protocol/README.md, "Limits".
 */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { adminReadTools } from '../../src/mcp/admin-read-tools.ts'
import { adminWriteTools } from '../../src/mcp/admin-write-tools.ts'
import { agentTools } from '../../src/mcp/agent-tools.ts'
import { signupTool } from '../../src/mcp/toolset.ts'
import { openApiDocument } from '../../src/rest/openapi.ts'
import { restRoutes } from '../../src/rest/routes.ts'

// deno-lint-ignore no-explicit-any -- JSON Schema
type Schema = any

/**
 * `setSkills` checks the limits of skills, which are not published to models. `update_task.text` is content and counts
 * as such.
 */
const known = ['set_skills.skills', 'set_skills.skills.name', 'set_skills.skills.description', 'update_task.text']

test('of tools', () => {
  const unlimited = [...agentTools, ...adminReadTools, ...adminWriteTools, signupTool].flatMap(({ name, input }) =>
    textsWithoutLimit(z.toJSONSchema(input, { io: 'input' }), name)
  )
  expect(unlimited).toEqual(known)
})

test('of routes', () => {
  const { paths } = openApiDocument(restRoutes, ['http://localhost']) as Schema
  const unlimited = []
  for (const [path, methods] of Object.entries<Schema>(paths)) {
    for (const [method, { requestBody }] of Object.entries<Schema>(methods)) {
      const body = requestBody?.content['application/json']?.schema
      if (body) unlimited.push(...textsWithoutLimit(body, `${method} ${path}`))
    }
  }
  expect(unlimited).toEqual([])
})

/** Returns where a schema accepts a text of any length. */
function textsWithoutLimit(schema: Schema, at: string): string[] {
  const { type, properties = {}, items, anyOf = [], oneOf = [], maxLength, pattern, enum: values, format } = schema
  const isUnlimited = [type].flat().includes('string') && [maxLength, pattern, values, format].every((one) => !one)
  return [
    ...(isUnlimited ? [at] : []),
    ...[...anyOf, ...oneOf, ...(items ? [items] : [])].flatMap((one: Schema) => textsWithoutLimit(one, at)),
    ...Object.entries(properties).flatMap(([name, one]) => textsWithoutLimit(one, `${at}.${name}`)),
  ]
}
