/** Every text that a caller may give to a tool or a route has a published limit. See docs/protocol/README.md, "Limits". */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiDocument } from '../../src/rest/openapi.ts'
import { restRoutes } from '../../src/rest/routes.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { gridPath, sendWire, signupPath, wireRequest } from '../support/mcp.ts'

// deno-lint-ignore no-explicit-any -- JSON Schema
type Schema = any

let grid: TestGrid
beforeAll(async () => {
  grid = await testGrid()
})
afterAll(() => grid.close())

/** Content, which the size of the body limits, and which counts. */
const contents = ['update_task.text']

test('of tools', async () => {
  const callers = [[grid.alice.key, gridPath], [grid.acme.adminKey, gridPath], [undefined, signupPath]] as const
  const unlimited = []
  for (const [key, path] of callers) {
    const { body } = await sendWire(grid, key, wireRequest('modern', 'tools/list'), path)
    for (const { name, inputSchema } of body.result.tools) unlimited.push(...textsWithoutLimit(inputSchema, name))
  }
  expect(unlimited).toEqual(contents)
})

test('of routes', () => {
  const { paths } = openApiDocument(restRoutes, ['http://localhost']) as Schema
  const unlimited = []
  for (const [path, methods] of Object.entries<Schema>(paths)) {
    for (const [method, { requestBody }] of Object.entries<Schema>(methods)) {
      const body = requestBody?.content['application/json'].schema
      if (body) unlimited.push(...textsWithoutLimit(body, `${method} ${path}`))
    }
  }
  expect(unlimited).toEqual([])
})

/** Where a schema takes a text of any length. */
function textsWithoutLimit(schema: Schema, at: string): string[] {
  const { type, properties = {}, items, anyOf = [], oneOf = [], maxLength, pattern, enum: values, format } = schema
  const isUnlimited = [type].flat().includes('string') && [maxLength, pattern, values, format].every((one) => !one)
  return [
    ...(isUnlimited ? [at] : []),
    ...[...anyOf, ...oneOf, ...(items ? [items] : [])].flatMap((one: Schema) => textsWithoutLimit(one, at)),
    ...Object.entries(properties).flatMap(([name, one]) => textsWithoutLimit(one, `${at}.${name}`)),
  ]
}
