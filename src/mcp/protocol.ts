/** What the MCP endpoint says of itself: revisions, server info, cache lifetimes and error codes. */
import { ProtocolError } from '@modelcontextprotocol/server'
import type { Lease } from '../grid/messaging/read-messages.ts'
import { version } from '../lib/version.ts'

/** Revisions that open with `initialize`, newest first. A request for an unknown one is answered with the first. */
export const legacyRevisions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26']

/** Revisions that carry their version, capabilities and client in every request. */
export const modernRevisions: readonly string[] = ['2026-07-28']

export const serverInfo = { name: 'agent-grid', version }

/** Lists depend on the credential and change with a deployment only. */
export const listCache = { ttlMs: 60_000, cacheScope: 'private' } as const
/** Resources and instructions may change at any time. */
export const noCache = { ttlMs: 0, cacheScope: 'private' } as const

/** The parameter that the header `Mcp-Name` repeats, by method. */
export const namedBy: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** The code of a reached limit, and of refused headers: of the range that JSON-RPC leaves to servers. */
export const serverError = -32000
/** Not in the SDK's `ProtocolErrorCode`. MCP 2026-07-28, "Standard request headers". */
export const headerMismatch = -32020

/** A message that is refused as a whole, with an HTTP status of its own. */
export class RefusedMessage extends ProtocolError {
  readonly status: number

  constructor(status: number, code: number, message: string, data?: unknown) {
    super(code, message, data)
    this.status = status
  }
}

/** The answer to a request, and the lease on the messages in it. */
export interface RpcAnswer {
  body: object
  status: number
  lease?: Lease
}
