/** What both paths of the MCP endpoint say alike: revisions, server info and cache lifetimes. */
import { version } from '../lib/version.ts'

/** Revisions that open with `initialize`, newest first. A request for an unknown one is answered with the first. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26']

/** Revisions that carry their version, capabilities and client in every request. */
export const modernRevisions = ['2026-07-28']

/** Prefix of the `_meta` keys that belong to the protocol. */
export const metaPrefix = 'io.modelcontextprotocol/'

export const serverInfo = { name: 'agent-grid', version }

/** Lists depend on the credential and change with a deployment only. */
export const listCache = { ttlMs: 60_000, cacheScope: 'private' } as const
/** Resources may change at any time. */
export const resourceCache = { ttlMs: 0, cacheScope: 'private' } as const
