/** Returns a text on one line, without the most common Markdown markup. */
export function oneLine(text: string): string {
  const lines = text.split('\n').filter((line) => !/^[\s|:`-]*$/.test(line))
  return lines.map((line) => line.replace(/^[\s>#*|-]+/, '').replace(/\*\*|`+/g, '').replaceAll('|', ' ')).join(' ')
    .replace(/\s+/g, ' ')
    .trim()
}
