/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */

/** The number of messages in one hour. */
export interface Bar {
  /** Start of the hour, in milliseconds since the epoch. */
  at: number
  count: number
}

const plotHeight = 150
const headroom = 8
const foot = 22
const height = headroom + plotHeight + foot

/**
 * A bar chart of messages per hour, oldest first. Horizontal positions are percentages, so the text keeps its size
 * on phones. Screen readers get a table.
 */
export function HourlyChart({ id, title, bars }: { id: string; title: string; bars: Bar[] }) {
  const total = bars.reduce((sum, { count }) => sum + count, 0)
  const most = Math.max(0, ...bars.map(({ count }) => count))
  const top = niceTop(most)
  const ticks = [0, top / 2, top]
  const slot = 100 / bars.length
  const y = (count: number) => headroom + plotHeight * (1 - count / top)
  const share = (value: number) => `${value.toFixed(3)}%`
  return (
    <figure class='chart'>
      <div class='plot'>
        <svg class='ticks' width='44' height={height} aria-hidden='true'>
          {ticks.map((tick) => <text x='34' y={y(tick) + 4} text-anchor='end'>{tick.toLocaleString('en')}</text>)}
        </svg>
        <svg role='img' aria-labelledby={`${id}-title ${id}-desc`} width='100%' height={height}>
          <title id={`${id}-title`}>{title}</title>
          <desc id={`${id}-desc`}>{`${total} in total, at most ${most} in one hour.`}</desc>
          {ticks.map((tick) => <line class='rule' x1='0' x2='100%' y1={y(tick)} y2={y(tick)} />)}
          {bars.map(({ at, count }, index) => (
            <g>
              <title>{`${hour(at)} UTC: ${count}`}</title>
              <rect class='hit' x={share(index * slot)} width={share(slot)} y={headroom} height={plotHeight} />
              {count > 0 && (
                <rect
                  class='bar-of'
                  x={share((index + .16) * slot)}
                  width={share(slot * .68)}
                  y={Math.min(y(count), y(0) - 2)}
                  height={Math.max(2, y(0) - y(count))}
                  rx='2'
                />
              )}
            </g>
          ))}
          {bars.map(({ at }, index) =>
            index % 6 === 0 && <text x={share(index * slot)} y={headroom + plotHeight + 17}>{hour(at)}</text>
          )}
        </svg>
      </div>
      <div class='unseen'>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope='col'>Hour (UTC)</th>
              <th scope='col'>Messages</th>
            </tr>
          </thead>
          <tbody>
            {bars.map(({ at, count }) => (
              <tr>
                <th scope='row'>{hour(at)}</th>
                <td>{count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

/** A small line chart without axes, shown beside its figure. `label` describes it to screen readers. */
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const [width, height] = [88, 26]
  const top = Math.max(1, ...values)
  const points = values.map((value, index) => {
    const x = 1 + index / Math.max(1, values.length - 1) * (width - 2)
    return `${x.toFixed(1)},${(height - 2 - value / top * (height - 4)).toFixed(1)}`
  })
  return (
    <svg class='spark' role='img' aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      <polygon points={`1,${height} ${points.join(' ')} ${width - 1},${height}`} fill='currentColor' opacity='.14' />
      <polyline
        points={points.join(' ')}
        fill='none'
        stroke='currentColor'
        stroke-width='1.5'
        stroke-linejoin='round'
      />
    </svg>
  )
}

/** The upper end of the axis: a round number of at least `most` whose half is also round. */
function niceTop(most: number): number {
  if (most <= 10) return Math.max(2, Math.ceil(most / 2) * 2)
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map((factor) => Math.round(factor * power)).find((top) => top >= most)!
}

function hour(at: number): string {
  return `${new Date(at).toISOString().slice(11, 13)}:00`
}
