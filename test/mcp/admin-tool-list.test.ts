/** The admin tools as clients see them. */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.d.ts"
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eras, gridPath, mcp, toolResult } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

/** A tool as clients see it. */
interface Listed {
  name: string
  title?: string
  description?: string
  // deno-lint-ignore no-explicit-any -- a JSON schema
  inputSchema: any
  annotations?: Record<string, boolean>
}

const readTools = [
  'admin_list_agents',
  'admin_list_channels',
  'admin_list_skills',
  'admin_list_guardrails',
  'admin_list_guardrail_providers',
]
const deletingTools = ['admin_delete_agent', 'admin_delete_channel']
const replacingTools = ['admin_set_agent_skills', 'admin_set_agent_guardrails', 'admin_set_channel_members']
const creatingTools = ['admin_create_agent', 'admin_create_channel']
const theTwelve = [...readTools, ...deletingTools, ...replacingTools, ...creatingTools].sort()

let grid: LiveGrid
beforeEach(async () => {
  grid = await liveGrid()
})
afterEach(() => grid.close())

test.each(eras)('%s: an admin token lists the twelve admin tools and nothing else', async (era) => {
  const { status, body } = await mcp(grid, grid.acme.adminKey, 'tools/list', {}, era)

  expect(status).toBe(200)
  expectTheTwelve(body.result.tools)
  expect(JSON.stringify(body)).not.toContain('$schema')
})

test.each(['legacy', 'auto', { pin: '2026-07-28' }] as const)('client 2, %j, shows the twelve', async (mode) => {
  const client = new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new TransportV2(new URL(gridPath, grid.url), bearing(grid.acme.adminKey)))

  const { tools } = await client.listTools()
  const { text } = toolResult(await client.callTool({ name: 'admin_list_agents', arguments: {} }))
  await client.close()

  expectTheTwelve(tools as Listed[])
  expect(text).toMatchObject({ total: expect.any(Number) })
})

test('client 1 shows the twelve', async () => {
  const client = new ClientV1({ name: 'test', version: '1' })
  await client.connect(new TransportV1(new URL(gridPath, grid.url), bearing(grid.acme.adminKey)))

  const { tools } = await client.listTools()
  const { text } = toolResult(await client.callTool({ name: 'admin_list_agents', arguments: {} }))
  await client.close()

  expectTheTwelve(tools as Listed[])
  expect(text).toMatchObject({ total: expect.any(Number) })
})

test('a tool of the other kind of token is not listed, and calling it is an unknown tool', async () => {
  const { body } = await mcp(grid, grid.alice.key, 'tools/list')
  const agentTools: string[] = body.result.tools.map(({ name }: Listed) => name)
  const calls = [
    ...theTwelve.map((name) => [grid.alice.key, name]),
    ...agentTools.map((name) => [grid.acme.adminKey, name]),
  ]

  expect(agentTools.filter((name) => name.startsWith('admin_'))).toEqual([])
  for (const era of eras) {
    for (const [key, name] of calls) {
      const answer = await mcp(grid, key, 'tools/call', { name, arguments: {} }, era)
      expect(answer.body.error.code).toBe(-32602)
      expect(answer.body.error.message).toMatch(new RegExp(`^Unknown tool: ${name}\\. It is a tool of `))
    }
  }
})

/** Checks the names, and what clients and models see of the tools. */
function expectTheTwelve(tools: Listed[]): void {
  expect(tools.map(({ name }) => name).sort()).toEqual(theTwelve)
  for (const { name, title, description, inputSchema, annotations } of tools) {
    expect(title).toMatch(/^[A-Z][a-z ]+$/)
    expect(description).toMatch(/^[A-Z].{30,}\.$/)
    expect(inputSchema).toMatchObject({ type: 'object', properties: {} })
    expect(Object.keys(inputSchema)).not.toContain('$schema')
    expect(annotations?.readOnlyHint ?? false).toBe(readTools.includes(name))
    if (readTools.includes(name)) continue
    expect(annotations?.destructiveHint).toBe(!creatingTools.includes(name))
    expect(annotations?.idempotentHint).toBe(replacingTools.includes(name))
  }
}

function bearing(key: string) {
  return { requestInit: { headers: { Authorization: `Bearer ${key}` } } }
}
