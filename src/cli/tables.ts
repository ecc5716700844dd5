/** Formats name and value pairs as two aligned columns. */
export function table(rows: (readonly [name: string, value: string | number])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

/** Formats a list as a table: titles, then one line per row. Returns `empty` if there are no rows. */
export function printList(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  { empty, next_cursor: cursor }: { empty: string; next_cursor?: string },
): string {
  if (rows.length === 0) return empty
  const lines = [titles, ...rows].map((row) => row.map((cell) => String(cell).replace(/[\s\p{Cc}]+/gu, ' ')))
  const widths = titles.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const text = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd())
  return [...text, ...(cursor === undefined ? [] : [`There are more: --cursor ${cursor}`])].join('\n')
}
