/** The database handle that statements are prepared with. */
import type { LibSQLDatabase } from 'drizzle-orm/libsql'

export type Db = LibSQLDatabase<Record<string, never>>

/** The SQL of each cross-account query, with its name. All other statements on account tables name their account. */
export type CrossAccountQueries = Map<string, string>
