/** Keys of running `agent-grid as` sessions, stored so that the key of a killed session can be revoked later. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, ownMark, type ProcessMark } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'
import { readJson, writeJson } from './sessions.ts'

const folderOf = (agent: GridAgent) => join(stateFolder(agent), 'session-keys')

/** Stores this process's key. The caller runs the returned function once the key is revoked. */
export function keepSessionKey(agent: GridAgent, key: string): () => void {
  const path = join(folderOf(agent), `${ownMark().pid}.json`)
  writeJson(path, { ...ownMark(), key })
  return () => rmSync(path, { force: true })
}

/** Keys of processes that have ended. The caller runs `forget` once a key is revoked. */
export function leftSessionKeys(agent: GridAgent): { key: string; forget(): void }[] {
  const folder = folderOf(agent)
  let names: string[] = []
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  } catch {
    // The folder is missing, because no session was ever run as this agent.
  }
  return names.flatMap((name) => {
    const path = join(folder, name)
    const kept = readJson(path) as ProcessMark & { key: string } | undefined
    return kept && !isAlive(kept) ? [{ key: kept.key, forget: () => rmSync(path, { force: true }) }] : []
  })
}
