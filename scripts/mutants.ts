/**
 * `npm run mutants`: makes each deliberate fault in a copy of the tree and runs the tests that should notice. It prints
 * a table, and ends with 1 if a fault survived or its text is no longer found. See docs/operations.md, "Deliberate
 * faults".
 */
import { setPriority } from 'node:os'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { faults } from './mutants/faults.ts'
import { maxMs, MutantTree } from './mutants/tree.ts'

const { values } = parseArgs({
  options: {
    /** Only faults whose file, text or killer contains this. */
    only: { type: 'string', default: '' },
    /** Which of several equal shares to try, for example `1/3`. */
    share: { type: 'string', default: '1/1' },
  },
})

const [share, shares] = values.share.split('/').map(Number)
const chosen = faults.filter(({ file, text, killer }) =>
  [file, text, killer].some((part) => part.includes(values.only))
)
  .filter((_, i) => i % shares === share - 1)
const row = (...cells: string[]) => console.log(cells.join(' | '))

// Whoever works on this machine goes first.
setPriority(10)
const tree = new MutantTree()
const counts: Record<string, number> = {}
try {
  const killers = [...new Set(chosen.map(({ killer }) => killer))]
  // All together, which is quick; only if one fails, each by itself.
  if (tree.run(killers, killers.length * maxMs) !== 'survived') {
    const broken = killers.filter((killer) => tree.run([killer]) !== 'survived')
    throw new Error(`Without a fault these tests fail already: ${broken.join(' ')}`)
  }
  row('outcome', 'seconds', 'file', 'text', 'killer')
  for (const fault of chosen) {
    const startedAt = Date.now()
    let outcome: string
    try {
      outcome = tree.tryFault(fault, [fault.killer])
    } catch (error) {
      outcome = `error: ${error instanceof Error ? error.message : error}`
    }
    const kind = outcome.replace(/:.*/s, '')
    counts[kind] = (counts[kind] ?? 0) + 1
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1)
    row(outcome, seconds, fault.file, JSON.stringify(fault.text).slice(0, 80), fault.killer)
  }
} finally {
  tree.remove()
}
console.log(`${chosen.length} faults: ${Object.entries(counts).map(([kind, n]) => `${n} ${kind}`).join(', ')}`)
process.exit(counts.survived || counts.error ? 1 : 0)
