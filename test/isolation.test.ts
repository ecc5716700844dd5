/**
 * Account isolation of the tools. Every parameter of every tool is called by an account with values of another account:
 * the response is the same as for an unknown value, and the owner's rows stay the same. How the cases are generated is
 * described in `support/isolation-matrix.ts`. See docs/security.md, "Isolation matrix".
 */
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { isolatedAccounts } from './support/isolated-accounts.ts'
import { expectIsolated } from './support/isolation-matrix.ts'
import { mcp } from './support/mcp.ts'
import {
  a2aRows,
  adminRows,
  agentRestRows,
  agentRows,
  casesOf,
  restRows,
  textPaths,
} from './support/tool-parameters.ts'

describe('a parameter of a tool', async () => {
  const world = await isolatedAccounts()
  const { grid } = world
  afterAll(() => grid.close())
  afterEach(() => world.reset())

  const endpoints = [
    { rows: adminRows, call: (tool: string, args: Args) => world.callMcp(grid.evil.adminKey, tool, args) },
    { rows: agentRows, call: (tool: string, args: Args) => world.callMcp(grid.eve.key, tool, args) },
    { rows: restRows, call: (route: string, args: Args) => world.callRest(grid.evil.adminKey, route, args) },
    { rows: agentRestRows, call: (route: string, args: Args) => world.callRest(grid.eve.key, route, args) },
    { rows: a2aRows, call: (method: string, message: Args) => world.callA2a(method, message) },
  ]
  const named = endpoints.flatMap(({ rows, call }) =>
    Object.entries(rows).flatMap(([tool, row]) =>
      Object.entries(row.parameters).flatMap(([path, parameter]) =>
        parameter === 'text' ? [] : [{ tool, row, path, parameter, call }]
      )
    )
  )
  const cases = named.flatMap((at) =>
    casesOf(at.parameter).map(({ state, form }) =>
      [`${at.tool} ${at.path}: ${state}, ${form}`, { ...at, state, form }] as const
    )
  )
  let ran = 0
  afterAll(() => console.log(`isolation matrix: ${named.length} parameters, ${ran} cases`))

  test.each([['admin', adminRows, grid.evil.adminKey], ['agent', agentRows, grid.eve.key]] as const)(
    'of the %s tools has a row in the matrix',
    async (_, rows, key) => {
      const { body } = await mcp(grid, key, 'tools/list')

      const listed = body.result.tools.map(({ name, inputSchema }: Listed) => [name, textPaths(inputSchema)])
      expect(Object.entries(rows).map(([tool, row]) => [tool, Object.keys(row.parameters)])).toEqual(listed)
    },
  )

  test.each([['admins', restRows, ['/api/v1/guardrails']], ['agents', agentRestRows, [
    '/api/v1/inbox',
    '/api/v1/messages',
    '/api/v1/me',
  ]]])(
    'of REST endpoints for %s has a row for every route',
    (_, rows, paths) => {
      const routes = grid.app.routes.filter(({ path, method }) =>
        paths.some((start) => path.startsWith(start)) && method !== 'ALL'
      )
      expect(Object.keys(rows)).toEqual(routes.map(({ method, path }) => `${method} ${path}`))
    },
  )

  test.each(cases)('%s', async (_, testCase) => {
    await expectIsolated(world, testCase)
    ran++
  })
})

type Args = Record<string, unknown>

interface Listed {
  name: string
  inputSchema: Parameters<typeof textPaths>[0]
}
