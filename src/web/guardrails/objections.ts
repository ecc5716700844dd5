/** What guardrails did, in words and in the colours of charts. */
import type { Series } from '../../html/chart.tsx'
import type { VerdictAction } from '../../store/account/verdicts.ts'

/** What guardrails do, the strictest first. */
export const verdictActions = ['blocked', 'redacted', 'flagged', 'failed'] as const satisfies VerdictAction[]

/** The colour of each in charts, and its badge. */
export const verdictSeries = {
  blocked: { name: 'Blocked', colour: 'danger' },
  redacted: { name: 'Redacted', colour: 'warning' },
  flagged: { name: 'Flagged', colour: 'info' },
  failed: { name: 'Failed', colour: 'soft' },
} as const satisfies Record<VerdictAction, Series>

/** How often a guardrail did what. */
export interface CountOfGuardrail {
  guardrailId: string
  action: VerdictAction
  n: number
  /** Null if the guardrail was deleted since. */
  name: string | null
}

/** How often each thing was done. */
export type Sums = Record<VerdictAction, number>

/** The counts of each action together. */
export function sumsOf(counts: readonly { action: VerdictAction; n: number }[]): Sums {
  const sums: Sums = { blocked: 0, redacted: 0, flagged: 0, failed: 0 }
  for (const { action, n } of counts) sums[action] += n
  return sums
}
