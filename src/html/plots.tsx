/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { Series } from './chart.tsx'

const height = 48

/**
 * A figure with bars for its hours or days, oldest first and from left to right in every language. A bar has a value for
 * each colour. `label` says it all in words; the table with the numbers is a `PlotTable`.
 */
export function Plot(
  { title, value, label, colours, bars }: {
    title: Child
    value: Child
    label: string
    colours: Series['colour'][]
    bars: number[][]
  },
) {
  const top = Math.max(1, ...bars.map((parts) => parts.reduce((sum, part) => sum + part, 0)))
  const slot = 100 / bars.length
  const share = (part: number) => `${part.toFixed(2)}%`
  return (
    <div class='stat plot-of'>
      <span class='label'>{title}</span>
      <span class='value'>{value}</span>
      <svg role='img' aria-label={label} width='100%' height={height} direction='ltr'>
        <line class='axis' x1='0' x2='100%' y1={height - .5} y2={height - .5} />
        {bars.map((parts, index) => {
          let from = height - 1
          return parts.map((part, n) => {
            // What is not 0 can be seen.
            const size = part === 0 ? 0 : Math.max(2, part / top * (height - 4))
            from -= size
            return size > 0 && (
              <rect
                class={`bar-of ${colours[n]}`}
                x={share((index + .12) * slot)}
                width={share(slot * .76)}
                y={from.toFixed(1)}
                height={size.toFixed(1)}
                rx='1'
              />
            )
          })
        })}
      </svg>
    </div>
  )
}

/** The numbers of plots as a table below a fold. The first cell of a row is its head. */
export function PlotTable({ caption, head, rows }: { caption: string; head: string[]; rows: Child[][] }) {
  return (
    <div class='scrolls-x' tabindex={0} role='region' aria-label={caption}>
      <table class='numbers'>
        <caption class='unseen'>{caption}</caption>
        <thead>
          <tr>{head.map((title) => <th scope='col'>{title}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map(([first, ...others]) => (
            <tr>
              <th scope='row'>{first}</th>
              {others.map((cell) => <td>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
