/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** A guardrail's objections over time. See docs/protocol/guardrails.md, "How a message is checked". */
import { countCases, type HourlyCount } from '../../grid/guardrails/cases.ts'
import { BarChart, type Series } from '../../html/chart.tsx'
import { Card } from '../../html/components.tsx'
import { day, hour } from '../../lib/time.ts'
import type { VerdictAction } from '../../store/account/verdicts.ts'
import type { Visit } from '../visit.ts'

/** Guardrail actions, the strictest first. */
export const verdictActions = [
  'blocked',
  'held',
  'redacted',
  'flagged',
  'unchecked',
  'failed',
] as const satisfies VerdictAction[]

/** Each action's name and colour in charts. The accent colour is green, which stands for success. */
const verdictSeries = {
  blocked: { name: 'Blocked', colour: 'warning' },
  held: { name: 'Held', colour: 'ink' },
  redacted: { name: 'Redacted', colour: 'accent' },
  flagged: { name: 'Flagged', colour: 'info' },
  unchecked: { name: 'Not checked, delivered', colour: 'danger' },
  failed: { name: 'Not checked, refused', colour: 'soft' },
} as const satisfies Record<VerdictAction, Series>

/** How often a guardrail took each action. */
export interface CountOfGuardrail {
  guardrailId: string
  action: VerdictAction
  n: number
  /** The guardrail's name. Null if it has been deleted. */
  name: string | null
}

export type Sums = Record<VerdictAction, number>

export function sumsOf(counts: readonly { action: VerdictAction; n: number }[]): Sums {
  const sums: Sums = { blocked: 0, held: 0, redacted: 0, flagged: 0, unchecked: 0, failed: 0 }
  for (const { action, n } of counts) sums[action] += n
  return sums
}

const spans = {
  month: { title: '30 days', unit: 'day', ms: day, bars: 30 },
  day: { title: '24 hours', unit: 'hour', ms: hour, bars: 24 },
} as const
type Span = keyof typeof spans

/** Loads a guardrail's counts for the time span `?span=`: `day`, otherwise 30 days. Days begin at midnight UTC. */
export async function loadHistory({ account, query }: Visit, id: string) {
  const span: Span = query.get('span') === 'day' ? 'day' : 'month'
  const { ms, bars } = spans[span]
  const first = Math.floor(account.deps.now() / ms) * ms - (bars - 1) * ms
  return { span, first, counts: await countCases(account, id, { from: first }) }
}

/** A chart of the guardrail's actions. The user can switch between two time spans. */
export function HistoryCard(
  { span, first, counts, path }: { span: Span; first: number; counts: HourlyCount[]; path: string },
) {
  const { title, unit, ms, bars } = spans[span]
  const buckets = Array.from({ length: bars }, (_, index) => {
    const at = first + index * ms
    const sums = sumsOf(counts.filter(({ hour }) => hour >= at && hour < at + ms))
    return { at, counts: verdictActions.map((action) => sums[action]) }
  })
  return (
    <Card
      title='Findings'
      lead={`Messages with a finding, and messages that could not be checked.${unit === 'day' ? ' Days in UTC.' : ''}`}
      actions={
        <nav class='row' aria-label='Time of the chart'>
          {Object.entries(spans).map(([name, { title }]) => (
            <a
              class={name === span ? 'button small' : 'button small quiet'}
              href={name === 'month' ? path : `${path}?span=${name}`}
              aria-current={name === span ? 'true' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      }
    >
      <BarChart
        id='history'
        title={`Findings in the last ${title}`}
        unit={unit}
        series={verdictActions.map((action) => verdictSeries[action])}
        bars={buckets}
      />
    </Card>
  )
}
