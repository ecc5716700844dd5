/** Client names, which clients choose themselves and which are unverified. See docs/security.md, "Client names". */

const maxLength = 80

/** One line of at most 80 visible characters, without control, format (bidi, zero width) and unassigned characters. */
export function cleanName(text: string): string {
  const line = text.toWellFormed().normalize('NFC').replace(/\s+/gu, ' ').replace(
    /[\p{C}\p{Default_Ignorable_Code_Point}]/gu,
    '',
  )
  return [...line.trim()].slice(0, maxLength).join('').trim() || 'Unnamed client'
}
