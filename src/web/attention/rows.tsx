/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Rows of items that need a person: failures first, then warnings. */
import { type Condition, countConditions } from '../../grid/attention/attention.ts'
import type { NeedRow } from '../../html/attention.tsx'
import type { Origin } from '../forms.tsx'
import { hiddenWords } from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { actionOf, foldOf, hrefOf, inWords, sumInWords } from './condition-words.tsx'

/** Minimum number of conditions of the same group that share one row. */
const manyAlike = 3

interface ShownCondition {
  condition: Condition
  row: NeedRow
}

/** The conditions of one urgency. `total` also counts the conditions omitted because of the `maxOfKind` limit. */
export interface ShownConditions {
  shown: ShownCondition[]
  total: number
}

/** Splits conditions by urgency. The two totals add up to the overall count. `from` is the page with the rows. */
export function byUrgency(
  visit: Visit,
  open: Condition[],
  from: Origin,
): Record<'broken' | 'warnings', ShownConditions> {
  const shown = open.map((condition) => ({ condition, row: rowOf(visit, condition, from) }))
  const warnings = shown.filter(({ row }) => row.tone !== 'bad')
  const total = countConditions(warnings.map(({ condition }) => condition))
  return {
    broken: { shown: shown.filter(({ row }) => row.tone === 'bad'), total: countConditions(open) - total },
    warnings: { shown: warnings, total },
  }
}

function rowOf(visit: Visit, condition: Condition, from: Origin): NeedRow {
  const words = inWords(visit, condition, visit.account.deps.now())
  return {
    ...words,
    href: hrefOf(visit, condition),
    facts: [condition.isHidden && hiddenWords, ...words.facts],
    actions: actionOf(visit, condition, from),
  }
}

/** Returns the rows. Three or more conditions of one group share a row, whose link or folded rows `fold` returns. */
export function foldedRows(
  visit: Visit,
  { shown }: ShownConditions,
  fold: (kind: string, rows: ShownCondition[], foot: string | false) => Pick<NeedRow, 'href' | 'folded'>,
): NeedRow[] {
  const folds = new Map<string, ShownCondition[]>()
  for (const one of shown) folds.set(foldOf(one.condition), [...folds.get(foldOf(one.condition)) ?? [], one])
  return [...folds].flatMap(([kind, found]): NeedRow[] => {
    if (found.length < manyAlike) return found.map(({ row }) => row)
    const conditions = found.map(({ condition }) => condition)
    const n = countConditions(conditions)
    const { icon, tone } = found[0].row
    const foot = n > found.length && `${found.length} of ${n.toLocaleString('en')} are shown.`
    return [{ icon, tone, ...sumInWords(visit, conditions, n), ...fold(kind, found, foot) }]
  })
}
