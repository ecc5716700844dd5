/** Format rows of a name and a value in two aligned columns. */
export function table(rows: (readonly [name: string, value: string | number])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}
