/** Text with the plain forms of its characters: ASCII digits, spaces and hyphens, no width and style, nothing hidden. */
import { hasAny, kinds } from './traits.ts'
import { mask, replaceIn, type View } from './view.ts'

const plainForms = new Map<string, string>()
/** Most characters that are remembered. The others are looked at each time. */
const mostForms = 20_000

/** The view with the plain form of each character. */
export function plain(view: View): View {
  if (!hasAny(view.text, kinds.other)) return view
  return replaceIn(view, changeable, ([char]) => {
    const form = plainForm(char)
    return form === char ? undefined : form
  })
}

const changeable = new RegExp(`[^\\0-\\x7f${mask}]`, 'gu')

function plainForm(char: string): string {
  let form = plainForms.get(char)
  if (form === undefined) {
    form = makePlain(char)
    if (plainForms.size < mostForms) plainForms.set(char, form)
  }
  return form
}

function makePlain(char: string): string {
  if (/\p{Default_Ignorable_Code_Point}/u.test(char)) return ''
  if (/\p{Zs}/u.test(char)) return ' '
  if (/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/.test(char)) return '-'
  if (/\p{Nd}/u.test(char)) return String(digitValue(char.codePointAt(0)!))
  return char.normalize('NFKC')
}

/** Decimal digits stand in rows of ten. */
function digitValue(code: number): number {
  const compatible = String.fromCodePoint(code).normalize('NFKC')
  if (/^\d$/.test(compatible)) return Number(compatible)
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++
  return value
}
