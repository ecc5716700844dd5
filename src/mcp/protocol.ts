/** What both paths of the MCP door must say alike: revisions, our name, how long lists may be kept. */
import { version } from '../lib/version.ts'

/** Revisions that open with `initialize`, newest first: the first answers a request for an unknown one. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26']

/** Revisions that carry their version, capabilities and client in every request. */
export const modernRevisions = ['2026-07-28']

/** Prefix of the `_meta` keys that belong to the protocol. */
export const metaPrefix = 'io.modelcontextprotocol/'

export const serverInfo = { name: 'agent-grid', version }

/** Lists depend on the credential and change with a deployment only. */
export const listCache = { ttlMs: 60_000, cacheScope: 'private' } as const
/** A resource is as old as its last change. */
export const resourceCache = { ttlMs: 0, cacheScope: 'private' } as const
