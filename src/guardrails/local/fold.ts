/** Normalises texts by removing differences that readers ignore. */
import { mask, replaceIn, type View } from './view.ts'

/** Characters beyond printable ASCII, except the mask that replaces findings. */
const special = new RegExp(`[^ -~${mask}]`, 'gu')

/**
 * Returns the view with ASCII digits, spaces and hyphens, without variants of width or style, and without frames and
 * invisible characters.
 */
export function plain(view: View): View {
  return replaceIn(view, special, (char) => plainForm(char!))
}

const plainForm = remembered((char) => {
  if (/[\0-\x7f]/.test(char)) return char
  // Removes frames, because a keycap emoji is a digit with a variation selector and a frame.
  if (/[\p{Default_Ignorable_Code_Point}\p{Me}]/u.test(char)) return ''
  if (/\p{Zs}/u.test(char)) return ' '
  if (/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/.test(char)) return '-'
  return /\p{Nd}/u.test(char) ? digitOf(char) : char.normalize('NFKC')
})

/** Returns the value of a decimal digit. Unicode encodes digits in blocks of ten. */
function digitOf(char: string): string {
  const compatible = char.normalize('NFKC')
  if (/\d/.test(compatible)) return compatible
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(char.codePointAt(0)! - value - 1))) value++
  return String(value)
}

export interface Folded {
  /** Words separated by single spaces, including punctuation. */
  readonly words: View
  /**
   * Letters and digits only, with `l` as `i`. Long phrases, which need no word boundaries inside, are searched here.
   */
  readonly letters: View
}

/**
 * Folds a text: ignores case, letter width, style (NFKD) and accents; replaces lookalikes of Latin letters, and digits
 * and symbols that stand for letters; removes repeated white space and invisible characters.
 */
export function fold(text: string): Folded {
  const chars = replaceIn({ text }, special, (char) => foldedForm(char!), { hidden: true })
  const lower = chars.text.toLowerCase().replace(/[0-9@$]+/g, (signs, at: number, all: string) => {
    const isInWord = /[a-z\xc0-\uffff]/.test(all.charAt(at - 1) + all.charAt(at + signs.length))
    return isInWord ? signs.replace(/./g, (sign) => letterSigns[sign] ?? sign) : signs
  })
  const words = replaceIn({ ...chars, text: lower }, / {2,}/g, () => ' ')
  return { words, letters: lettersOf(words) }
}

/** The letters that digits and symbols stand for in a word. */
const letterSigns: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's' }

function lettersOf(words: View): View {
  const starts: number[] = []
  const ends: number[] = []
  let text = ''
  let at = 0
  for (const char of words.text) {
    const letter = letterForm(char)
    for (let i = 0; i < letter.length; i++) {
      starts.push(words.places ? words.places.starts[at] : at)
      ends.push(words.places ? words.places.ends[at + char.length - 1] : at + char.length)
    }
    text += letter
    at += char.length
  }
  return { text, places: { starts, ends } }
}

const letterForm = remembered((char) => {
  // Regional indicators count as letters here, but not in words, where two of them form a flag.
  const regional = char.codePointAt(0)! - 0x1f1e6
  if (regional >= 0 && regional < 26) return String.fromCharCode(0x61 + regional)
  return char === 'l' ? 'i' : /[\p{L}\p{N}\p{M}]/u.test(char) ? char : ''
})

/** Accents, the optional vowel marks of Hebrew and Arabic, and invisible characters. */
const ignored =
  /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u20d0-\u20f0\p{Default_Ignorable_Code_Point}\p{Cc}]/gu

const foldedForm = remembered((char) => {
  // The blank Braille pattern is invisible.
  if (/[\p{White_Space}\u2800]/u.test(char)) return ' '
  // Replaces letters in black circles and squares, which NFKD preserves.
  const circled = char.replace(/[\u{1f150}-\u{1f169}]/u, (c) => String.fromCharCode(c.codePointAt(0)! - 0x1f150 + 0x61))
    .replace(/[\u{1f170}-\u{1f189}]/u, (c) => String.fromCharCode(c.codePointAt(0)! - 0x1f170 + 0x61))
  // Converts to upper case first, so that ß becomes ss and all sigmas become equal, as in full case folding.
  const folded = circled.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFKD').replace(ignored, '')
  return [...folded].map((letter) => lookalikes.get(letter) ?? letter).join('')
    .replace(/æ/g, 'ae').replace(/œ/g, 'oe').replace(/\s+/g, ' ')
})

/** Caches the function's results for the first 20,000 distinct characters. */
function remembered(form: (char: string) => string): (char: string) => string {
  const forms = new Map<string, string>()
  return (char) => {
    let known = forms.get(char)
    if (known === undefined) {
      known = form(char)
      if (forms.size < 20_000) forms.set(char, known)
    }
    return known
  }
}

/**
 * Each Latin letter, followed by the letters of other scripts that look like it and that NFKD does not map. @see UTS
 * #39, confusables.txt
 */
const rows = 'aᴀɑαаꭺᗅꓮ𖽀𐊠 bʙƅьꮟᑲᖯꞵβвᏼᗷꓐ𐊂𐊡𐌁 cᴄσⲥсꮯ𐐽ꓚ𐊢𐌂𐔜 dᴅđԁꮷᑯꓒꭰᗞᗪꓓ eᴇꬲеҽεⴹꭼꓰ𑣆𑣎𐊆 fꜰғꬵꞙẝքϝᖴꓝ𑣂𐊇𐊥𐔥 gɢɡᶃƍցԍꮐᏻꓖ ' +
  'hʜħһհꮒηⲏнꮋᕼꓧ𐋏 iɪɩιіꙇӏꭵ𑣃ǀⲓⵏᛁꓲ𖼨𐊊𐌉 jᴊϳјʝꭻᒍꓙ kᴋκⲕкꮶᛕꓗ𐔘 lʟłⳑꮮᒪꓡ𖼖𑣒𐑃𐔦 mᴍμϻⲙмꮇᗰᛖꓟ𐊰𐌑 nɴոռνⲛꓠ𐔓 ' +
  'oøᴏᴑꬽοⲟоօ𐓪𑣈𑣗𐐬ⵔꓳ𑣕𐊒𐊫𐔖 pᴘρⲣрꮲᑭꓑ𐊕 qꞯԛգզⵕ rꭇꭈᴦⲅгꮁʀꭱꮢ𐓜ᖇꓣ𖼵 sꜱƽѕꮪ𑣁𐑈տꮥꓢ𖼺𐊖 tᴛτⲧтꭲꓔ𖼊𑣜𐊗𐊱𐌕 ' +
  'uꞟᴜꭎꭒʋυս𐓶𑣘ᑌꓴ𖽂 vᴠѵ𑜆ꮩ𑣀ⴸᐯꛟꓦ𖼈𐔝 wɯᴡѡԝա𑜊𑜎𑜏ꮃꮤꓪ xхᕁᕽꭓχⲭⵝᚷꓫ𐊐𐊴𐌗𐔧 yɣᶌʏỿꭚγуүⲩꭹꮍꓬ𖽃𑣄𐊲 zᴢꮓζꓜ𑣉'

/** Maps each letter to the Latin letter that it looks like. */
const lookalikes: ReadonlyMap<string, string> = new Map(
  rows.split(' ').flatMap((row) => {
    const [latin, ...others] = row
    return others.map((other) => [other, latin] as const)
  }),
)
