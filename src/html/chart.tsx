/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { clockAt } from '../lib/time.ts'
import { useZone } from './components.tsx'

/** A bar of stacked counts, one for each series in order. */
export interface StackedBar {
  /** The start of the hour or day, in milliseconds since the epoch. */
  at: number
  counts: number[]
}

/** A colour and the name of the counts that it shows. */
export interface Series {
  name: string
  colour: 'accent' | 'danger' | 'warning' | 'info' | 'ink' | 'soft'
}

const plotHeight = 150
const headroom = 8
const foot = 22
const height = headroom + plotHeight + foot

/**
 * A bar chart of counts per hour or day, oldest first, with a legend if it has several series. Horizontal positions are
 * percentages, so that text keeps its size on phones. Time runs from left to right in every language. Screen readers
 * get a table.
 */
export function BarChart(
  { id, title, unit, series, bars }: {
    id: string
    title: string
    unit: 'hour' | 'day'
    series: Series[]
    bars: StackedBar[]
  },
) {
  const sumOf = ({ counts }: StackedBar) => counts.reduce((sum, count) => sum + count, 0)
  const most = Math.max(0, ...bars.map(sumOf))
  const total = bars.reduce((sum, bar) => sum + sumOf(bar), 0)
  const top = niceTop(most)
  const ticks = [0, top / 2, top]
  const slot = 100 / bars.length
  const y = (count: number) => headroom + plotHeight * (1 - count / top)
  const share = (value: number) => `${value.toFixed(3)}%`
  const zone = useZone()
  // Days are UTC days, so that they are the same for all readers.
  const name = unit === 'hour' ? (at: number) => hour(clockAt(zone, at)) : date
  // With this spacing, the labels fit in one row on the smallest phone.
  const labelEvery = unit === 'hour' ? 6 : 10
  const countsOf = ({ counts }: StackedBar) =>
    series.length === 1
      ? String(counts[0])
      : series.map((series, index) => `${counts[index]} ${series.name.toLowerCase()}`).join(', ')
  return (
    <figure class='chart'>
      {series.length > 1 && <Legend series={series} bars={bars} />}
      <div class='plot' dir='ltr'>
        <svg class='ticks' width='44' height={height} aria-hidden='true'>
          {ticks.map((tick) => <text x='34' y={y(tick) + 4} text-anchor='end'>{tick.toLocaleString('en')}</text>)}
        </svg>
        <svg role='img' aria-labelledby={`${id}-title ${id}-desc`} width='100%' height={height}>
          <title id={`${id}-title`}>{title}</title>
          <desc id={`${id}-desc`}>{`${total} in total, at most ${most} in one ${unit}.`}</desc>
          {ticks.map((tick) => <line class='rule' x1='0' x2='100%' y1={y(tick)} y2={y(tick)} />)}
          {bars.map((bar, index) => (
            <g>
              <title>{`${name(bar.at)}: ${countsOf(bar)}`}</title>
              <rect class='hit' x={share(index * slot)} width={share(slot)} y={headroom} height={plotHeight} />
              {stack(bar.counts, plotHeight / top).map(({ from, to }, at) =>
                to > from && (
                  <rect
                    class={`bar-of ${series[at].colour}`}
                    x={share((index + .16) * slot)}
                    width={share(slot * .68)}
                    y={y(0) - to}
                    height={to - from}
                    rx='2'
                  />
                )
              )}
            </g>
          ))}
          {bars.map(({ at }, index) =>
            index % labelEvery === 0 && <text x={share(index * slot)} y={headroom + plotHeight + 17}>{name(at)}</text>
          )}
        </svg>
      </div>
      <div class='unseen'>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope='col'>{unit === 'hour' ? `Hour (${zone})` : 'Day (UTC)'}</th>
              {series.map(({ name }) => <th scope='col'>{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {bars.map(({ at, counts }) => (
              <tr>
                <th scope='row'>{name(at)}</th>
                {counts.map((count) => <td>{count}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

function Legend({ series, bars }: { series: Series[]; bars: StackedBar[] }) {
  return (
    <ul class='legend'>
      {series.map(({ name, colour }, index) => (
        <li>
          <svg width='10' height='10' aria-hidden='true'>
            <rect class={`bar-of ${colour}`} width='10' height='10' rx='2' />
          </svg>
          {name} <strong>{bars.reduce((sum, { counts }) => sum + counts[index], 0).toLocaleString('en')}</strong>
        </li>
      ))}
    </ul>
  )
}

/** Returns each segment's start and end, in pixels above the axis. The smallest non-zero count gets 2 pixels. */
function stack(counts: number[], pixels: number): { from: number; to: number }[] {
  let top = 0
  return counts.map((count) => {
    const from = top
    if (count > 0) top += Math.max(2, count * pixels)
    // A one-pixel gap separates two segments without relying on colour.
    return { from: from > 0 ? from + 1 : from, to: top }
  })
}

/** Returns the upper end of the axis: a round number of at least `most` whose half is also round. */
function niceTop(most: number): number {
  if (most <= 10) return Math.max(2, Math.ceil(most / 2) * 2)
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map((factor) => Math.round(factor * power)).find((top) => top >= most)!
}

function hour(clock: Date): string {
  return clock.toISOString().slice(11, 16)
}

function date(at: number): string {
  const [, day, month] = new Date(at).toUTCString().split(' ')
  return `${Number(day)} ${month}`
}
