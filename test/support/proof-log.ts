/** Records a proof's figures, so that a proof of many runs can be resumed. See `scripts/longer.ts`. */
import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import process from 'node:process'

/** Appends a line to the file named by `PROOF_LOG`, if it is set. `on` is the runtime or the database. */
export function keepFigures(proof: string, on: string, seed: number, figures: Record<string, number>): void {
  if (!process.env.PROOF_LOG) return
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const line = { proof, on, seed, commit, at: new Date().toISOString(), figures }
  appendFileSync(process.env.PROOF_LOG, `${JSON.stringify(line)}\n`)
}
