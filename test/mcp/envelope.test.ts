/**
 * Which messages count as requests, and of which era. The SDK is the reference, but the grid recognises common messages
 * without the SDK.
 */
import { classifyInboundRequest, isJSONRPCRequest } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { eraOf } from '../../src/mcp/protocol.ts'
import { envelope, type Era, eras, type WireRequest, wireRequest } from '../support/mcp.ts'

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'
const clientKey = 'io.modelcontextprotocol/clientInfo'

/** Values for a member or a header, most of them invalid. `undefined` omits it. */
const texts = [undefined, '', 'x', '2.0', '2026-07-28', '2025-11-25', '1999-01-01', 'initialize']
const values = [...texts, null, 0, 1.5, 2 ** 53, true, [], [{}], {}]
const members = ['jsonrpc', 'id', 'method', 'params', '_meta', versionKey]

test.each(eras)('a %s request with an invalid member is treated exactly as by the SDK', (era) => {
  const requests = members.flatMap((member) => values.map((value) => request(era, member, value)))
  const served = requests.filter((one) => judged(one) === era)

  expect(served.length).toBeGreaterThan(texts.length)
  for (const one of requests) expectAsSdk(one)
})

test.each(eras)('a %s request with an invalid header is treated exactly as by the SDK', (era) => {
  for (const header of ['MCP-Protocol-Version', 'Mcp-Method']) {
    for (const value of texts) {
      for (const method of ['tools/call', 'initialize']) {
        const one = request(era, 'method', method)
        if (value === undefined) delete one.headers[header]
        else one.headers[header] = value
        expectAsSdk(one)
      }
    }
  }
})

test.each([undefined, 'x', 5, true, []])("client capabilities of %j are refused with the SDK's message", (value) => {
  const one = request('modern', capabilitiesKey, value)

  expect(judged(one)).toMatch(/^Invalid _meta envelope .* io\.modelcontextprotocol\/clientCapabilities: /)
  expect(judged(one)).toBe(bySdk(one))
})

test('members of _meta that the grid does not use may have any form', () => {
  const unused = { [capabilitiesKey]: { roots: true, elicitation: [] }, [clientKey]: { title: 5 }, progressToken: [] }

  expect(judged(request('modern', '_meta', envelope(unused)))).toBe('modern')
  expect(judged(request('legacy', '_meta', { progressToken: [] }))).toBe('legacy')
})

/** Builds a tool call in which one member has the given value. */
function request(era: Era, member: string, value: unknown): WireRequest {
  const one = wireRequest(era, 'tools/call', { name: 'list_agents', arguments: {} })
  const { params } = one.body
  const parent = member === '_meta' ? params : member.startsWith('io.') ? (params._meta ??= {}) : one.body
  if (value === undefined) delete parent[member]
  else parent[member] = value
  return one
}

function expectAsSdk(one: WireRequest): void {
  const era = judged(one)
  if (era !== 'legacy' && era !== 'modern') return
  expect([one, era, true]).toEqual([one, bySdk(one), isJSONRPCRequest(one.body)])
}

/** Returns the era, the reason for a refusal, or undefined for a notification. */
function judged({ headers, body }: WireRequest): string | undefined {
  try {
    return eraOf(new Headers(headers), body)
  } catch (error) {
    return (error as Error).message
  }
}

function bySdk({ headers, body }: WireRequest): string | undefined {
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: headers['MCP-Protocol-Version'],
    mcpMethodHeader: headers['Mcp-Method'],
    body,
  })
  return route.kind === 'reject' ? route.message : route.kind
}
