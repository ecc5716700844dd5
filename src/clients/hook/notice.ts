/** What a waiter could not say when it happened: the next session of the agent hears it at its start. */
import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, writeJson } from '../state/json-file.ts'
import { type GridAgent, stateFolder } from '../state/paths.ts'

/** Leave a sentence for the next start. */
export function leaveNotice(agent: GridAgent, sentence: string): void {
  writeJson(pathOf(agent), { sentence })
}

/** The sentence that was left, if any; it is removed. */
export function takeNotice(agent: GridAgent): string | undefined {
  const path = pathOf(agent)
  const { sentence } = (readJson(path) ?? {}) as { sentence?: unknown }
  if (typeof sentence !== 'string') return undefined
  try {
    unlinkSync(path)
  } catch {
    // Another hook says it.
    return undefined
  }
  return sentence
}

function pathOf(agent: GridAgent): string {
  return join(stateFolder(agent), 'notice.json')
}
