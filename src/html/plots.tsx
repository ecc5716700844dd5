/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { Series } from './chart.tsx'

const height = 48

/** Returns a duration's height on a logarithmic scale. A day is about sixteen times as high as a second. */
const heightOf = (value: number) => Math.log10(1 + value / 1_000)

/**
 * A figure with bars for hours or days, oldest first and from left to right in every language. A bar has a value per
 * colour. The bar's tooltip shows its name, and its values formatted by `inWords`. `label` describes the complete
 * figure. A `PlotTable` shows the numbers. `isLogarithmic` is for milliseconds that differ by orders of magnitude.
 */
export function Plot(
  { title, value, label, colours, names, bars, isLogarithmic, inWords = ([n]) => n.toLocaleString('en') }: {
    title: Child
    value: Child
    label: string
    colours: Series['colour'][]
    names: string[]
    bars: number[][]
    isLogarithmic?: boolean
    inWords?: (parts: number[]) => string
  },
) {
  const sizes = isLogarithmic ? bars.map((parts) => parts.map(heightOf)) : bars
  const top = Math.max(
    isLogarithmic ? heightOf(60_000) : 1,
    ...sizes.map((parts) => parts.reduce((sum, part) => sum + part, 0)),
  )
  const slot = 100 / bars.length
  const share = (part: number) => `${part.toFixed(2)}%`
  return (
    <div class='stat plot-of'>
      <span class='label'>{title}</span>
      <span class='value'>{value}</span>
      <svg role='img' aria-label={label} width='100%' height={height} direction='ltr'>
        <line class='axis' x1='0' x2='100%' y1={height - .5} y2={height - .5} />
        {sizes.map((parts, index) => {
          let from = height - 1
          const shown = parts.map((part, n) => {
            // Values above 0 are always visible.
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
          return (
            <g>
              <title>{`${names[index]}: ${inWords(bars[index])}`}</title>
              <rect class='hit' x={share(index * slot)} width={share(slot)} y='0' height={height} />
              {shown}
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** A collapsed table of the plots' numbers. The first cell of each row is its header. */
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
