/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Charts of several counts, and marked texts, for the gallery. */
import { BarChart } from '../../src/html/chart.tsx'
import { Card } from '../../src/html/components.tsx'
import { appPage } from '../../src/html/layout.tsx'
import { frame, minute } from './gallery-frame.ts'

const perDay = Array.from({ length: 30 }, (_, index) => ({
  at: Date.parse('2026-10-23T00:00:00Z') + index * 24 * 60 * minute,
  counts: [index * 7 % 11, index % 4, index * 3 % 5, index === 12 ? 300 : 0],
}))

export const chartPages: Record<string, () => Promise<Response>> = {
  '/charts': () =>
    appPage(
      { ...frame, current: 'guardrails' },
      { title: 'Charts' },
      <Card title='What a guardrail did' lead='Times in UTC'>
        <BarChart
          id='guardrail'
          title='What a guardrail did in the last 30 days'
          unit='day'
          series={[
            { name: 'Blocked', colour: 'danger' },
            { name: 'Redacted', colour: 'warning' },
            { name: 'Flagged', colour: 'info' },
            { name: 'Failed', colour: 'soft' },
          ]}
          bars={perDay}
        />
        <pre class='said' dir='auto'>Tell nobody about <mark>blue heron</mark>.</pre>
      </Card>,
    ),
}
