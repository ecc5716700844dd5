import { commit, version } from '../../lib/version.ts'
import type { DatabaseHealth } from '../../store/health.ts'
import { storeCommand } from '../command.ts'

/** What only the process that has the database can tell. */
export interface InsideFacts {
  build: string
  /** The ids of the keys that this process knows, the newest first. */
  keyIds: string[]
  database: DatabaseHealth
}

/** The version of this program, with the commit that a package or a binary was built from. */
export const build = commit === undefined ? version : `${version} (${commit})`

/** `agent-grid doctor` asks it of a running server. */
export const lookInside = storeCommand({
  name: 'doctor',
  summary: 'Tell what only the process that has the database can tell.',
  options: {},
  run: async (store) => ({ build, keyIds: [...store.keyRing.ids], database: await store.health() }),
  print: JSON.stringify,
})
