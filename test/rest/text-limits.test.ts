/** Every text argument of a tool or a route has a published limit. See docs/protocol/README.md, "Limits". */
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
 * Texts without a published limit. `setSkills` checks the limits of skills, and a task's text counts towards the task's
 * size.
 */
const known = ['set_skills.skills', 'set_skills.skills.name', 'set_skills.skills.description', 'update_task.text']

test('every text argument of a tool has a published limit, except known ones', () => {
  const unlimited = [...agentTools, ...adminReadTools, ...adminWriteTools, signupTool].flatMap(({ name, input }) =>
    textsWithoutLimit(z.toJSONSchema(input, { io: 'input' }), name)
  )
  expect(unlimited).toEqual(known)
})

test('every text argument of a route has a published limit', () => {
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

/** Returns the places where a schema accepts a text of any length. */
function textsWithoutLimit(schema: Schema, at: string): string[] {
  const { type, properties = {}, items, anyOf = [], oneOf = [], maxLength, pattern, enum: values, format } = schema
  const isUnlimited = [type].flat().includes('string') && [maxLength, pattern, values, format].every((one) => !one)
  return [
    ...(isUnlimited ? [at] : []),
    ...[...anyOf, ...oneOf, ...(items ? [items] : [])].flatMap((one: Schema) => textsWithoutLimit(one, at)),
    ...Object.entries(properties).flatMap(([name, one]) => textsWithoutLimit(one, `${at}.${name}`)),
  ]
}
