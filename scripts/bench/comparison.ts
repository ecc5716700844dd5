/** The table of a comparison: what each did, how the first one compares with it, and whether the aims are met. */
import { median } from './numbers.ts'
import type { TextTable } from './scenario.ts'
import { ratioOf } from './slices.ts'

/** The least ratio of the pairs of the first subject to those of a broker. */
export interface Aim {
  /** The name of the broker. */
  broker: string
  clients: number
  ratio: number
}

/** Pairs per second, by the number of clients: one for each slice, in the order of the slices. The first is the grid. */
export type Rates = { name: string; label: string; perSecond: Map<number, number[]> }[]

/**
 * A row for each subject, with a column for each number of clients, and a last row with the aims. A ratio is the median
 * of those of the slices that were measured in the same round.
 */
export function comparisonOf([grid, ...others]: Rates, clients: number[], aims: Aim[]): TextTable {
  let met = 0
  const cellOf = ({ name, perSecond }: Rates[number], count: number): string => {
    const rates = perSecond.get(count)!
    const ratio = ratioOf(grid.perSecond.get(count)!, rates)
    const aim = aims.find(({ broker, clients }) => broker === name && clients === count)
    if (aim && ratio >= aim.ratio) met++
    const judged = aim ? `, aim ${aim.ratio}: ${ratio >= aim.ratio ? 'met' : 'missed'}` : ''
    return `${rate(rates)} (grid x ${ratio.toFixed(2)}${judged})`
  }
  const rows = others.map((other) => [other.label, ...clients.map((count) => cellOf(other, count))])
  const measured = aims.filter(({ broker, clients: count }) =>
    clients.includes(count) && others.some(({ name }) => name === broker)
  )
  return {
    headings: ['pairs per second', ...clients.map((count) => count === 1 ? '1 client' : `${count} clients`)],
    rows: [[grid.label, ...clients.map((count) => rate(grid.perSecond.get(count)!))], ...rows],
    remark: `Aims met: ${met} of ${measured.length}${
      measured.length < aims.length ? `; ${aims.length - measured.length} were not measured` : ''
    }.`,
  }
}

function rate(perSecond: number[]): string {
  return Math.round(median(perSecond)).toLocaleString('en')
}
