/** Names that clients give themselves: shown to people, vouched for by nobody. Security O9. */

const maxLength = 80

/** One line of visible text, cut. Control, format (bidi, zero width) and unassigned characters are dropped. */
export function cleanName(text: string): string {
  const line = text.toWellFormed().normalize('NFC').replace(/\s+/gu, ' ').replace(
    /[\p{C}\p{Default_Ignorable_Code_Point}]/gu,
    '',
  )
  return [...line.trim()].slice(0, maxLength).join('').trim() || 'Unnamed client'
}
