/** The era of a message. What its headers must repeat is in `message-frame.test.ts`. */
import { eraOf } from '../../src/mcp/protocol.ts'
import { envelope, wireRequest } from '../support/mcp.ts'
import { expect, test } from 'vitest'

const prefix = 'io.modelcontextprotocol/'

test.each(
  [
    ['legacy', {}, {}],
    ['legacy', { 'Mcp-Method': 'something/else', 'Mcp-Name': 'x' }, { progressToken: 'a' }],
    ['legacy', { 'Content-Type': 'application/json; charset=utf-8' }, { progressToken: 1 }],
    ['modern', {}, envelope()],
    ['modern', {}, {
      [`${prefix}protocolVersion`]: '2026-07-28',
      [`${prefix}clientCapabilities`]: {
        roots: { listChanged: true },
        sampling: {},
        elicitation: { form: {}, url: {} },
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } },
      },
      progressToken: 7,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    }],
  ] as const,
)('%s: the era of a request does not depend on what clients say of themselves: %j %j', (era, headers, meta) => {
  const request = wireRequest(era, 'tools/call', { name: 'list_channels' })
  Object.assign(request.headers, headers)
  request.body.params._meta = meta

  expect(eraOf(new Headers(request.headers), request.body, true)).toBe(era)
})
