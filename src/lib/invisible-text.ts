/**
 * Removes characters that people cannot see but models read: tags, direction controls, zero-width characters, variation
 * selectors and controls. Those that a script or emoji needs remain. See docs/security.md, "Texts that models read".
 */

/**
 * Controls except tab and line feed, and characters that Unicode allows a renderer to ignore
 * (`Default_Ignorable_Code_Point`).
 */
const hidden = String
  .raw`\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e` +
  String
    .raw`\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`

/**
 * Matches texts that need a full check. It is a single class of code units, without the flag `u`, because it runs for
 * every text that is read.
 */
const suspicious =
  // deno-lint-ignore no-control-regex -- controls are what it looks for
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ud82f\ud834\udb40-\udb43\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]/

/** Matches all invisible characters and unusual line terminators. */
export const hiddenCharacter = new RegExp(`[${hidden}\x85\u2028\u2029]`, 'gu')

/** Matches controls that end a line. A lone carriage return would let a terminal overwrite the line. */
const unusualLineEnd = /\r(?!\n)|[\v\f\x85]/g

/** Matches a visible character with one of `properties`. */
const visible = (properties: string, except = '') => `(?![${hidden}]${except && `|[${except}]`})[${properties}]`

const scripts = (names: string) => names.split(' ').map((name) => String.raw`\p{scx=${name}}`).join('')

/** Scripts whose letters need no joiners. Joiners can connect or separate the letters of all other scripts. */
const unjoined = scripts(
  'Latin Greek Cyrillic Armenian Georgian Han Hiragana Katakana Hangul Bopomofo Common Inherited',
)
const joined = visible(String.raw`\p{L}\p{M}`, unjoined)
/** Scripts without spaces between words. */
const unspaced = visible(
  scripts('Thai Lao Khmer Myanmar Tai_Tham New_Tai_Lue Tai_Le Tai_Viet Tibetan Javanese Balinese Sundanese Cham Batak'),
)
const letter = visible(String.raw`\p{L}\p{M}`)
const mongolian = visible(scripts('Mongolian'))
const shorthand = visible(scripts('Duployan'))
const music = visible(String.raw`\u{1d100}-\u{1d1ff}`)
/** Symbols and emoji, and those letters and punctuation marks that have standardized variants. */
const variable = visible(
  String.raw`\p{S}\p{Emoji}\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f${
    scripts('Han Myanmar Phags_Pa Manichaean')
  }`,
  '$+<=>^`|~0-9#*',
)

/** The contexts in which a character is needed. Except for direction marks, they consist of visible neighbours. */
const needed = [
  // Emoji: their presentation, sequences such as families, and the three flags that consist of tags.
  String.raw`(?<=${variable})[\ufe00-\ufe02\ufe0e\ufe0f]`,
  // Digits in keycaps, and the slashed zero.
  String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
  String.raw`(?<=0)\ufe00`,
  String.raw`(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})`,
  String
    .raw`(?<=\u{1f3f4})\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}`,
  ...beside(joined, String.raw`[\u200c\u200d]`),
  ...beside(unspaced, String.raw`\u200b`),
  // No ideograph has more registered variants than this. @see UTS #37, IVD_Sequences.txt
  String.raw`(?<=\p{Unified_Ideograph})[\u{e0100}-\u{e011f}]`,
  String.raw`(?<=${mongolian})[\u180b-\u180f]`,
  String.raw`(?<=${visible(scripts('Khmer'))})[\u17b4\u17b5]`,
  String.raw`\u115f(?:(?=[\u1161-\u11a7\ud7b0-\ud7c6])|\u1160(?=[\u11a8-\u11ff\ud7cb-\ud7fb]))`,
  String.raw`(?<=[\u1100-\u115e\ua960-\ua97c])\u1160`,
  ...beside(shorthand, String.raw`[\u{1bca0}-\u{1bca3}]`),
  ...beside(music, String.raw`[\u{1d173}-\u{1d17a}]`),
  String.raw`(?<=${visible(scripts('Egyptian_Hieroglyphs'))})[\ufe00-\ufe06]`,
  // U+034F preserves the order of combining marks. U+00AD shows as a hyphen if it is at the end of a line.
  String.raw`\u034f(?=${visible(String.raw`\p{M}`)})`,
  String.raw`(?<=${letter})\xad(?=${letter})`,
  // Direction marks are checked below, by line.
  String.raw`[\u061c\u200e\u200f]`,
]

function beside(neighbour: string, char: string): string[] {
  return [`(?<=${neighbour})${char}`, `${char}(?=${neighbour})`]
}

const unneeded = new RegExp(`(?=[${hidden}])(?:(${needed.join('|')})|[${hidden}])`, 'gu')

/** Hebrew, Arabic and other blocks that Unicode reserves for right-to-left scripts. */
const rightToLeft = String.raw`\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}`
const isRightToLeft = new RegExp(`(?=[\\p{L}\\p{N}])[${rightToLeft}]`, 'u')
const directionMarks = /[\u061c\u200e\u200f]+/g
/** Matches marks within a word. They have no effect or split the word. */
const marksInWord = /(?<=[\p{L}\p{M}])[\u061c\u200e\u200f]+(?=\p{L})|(?<=\p{N})[\u061c\u200e\u200f]+(?=\p{N})/gu
/** Matches one mark, or two before the sign of a negative amount, as in CLDR for Arabic and Hebrew. */
const neededMarks = /(\u200f\u200e)(?=[-+\u2212])|([\u061c\u200e\u200f])[\u061c\u200e\u200f]*/g

/** Removes unneeded direction marks. In a right-to-left line, marks order punctuation and digits. */
function withNeededMarks(line: string): string {
  if (!isRightToLeft.test(line)) return line.replace(directionMarks, '')
  return line.replace(marksInWord, '').replace(neededMarks, '$1$2')
}

/**
 * Returns the text without invisible characters. Lone carriage returns and other line ends become line feeds. A text
 * without either is returned unchanged after one search. Idempotent.
 */
export function withoutInvisible(text: string): string {
  if (!suspicious.test(text)) return text
  const cleaned = text.replace(unusualLineEnd, '\n').replace(unneeded, '$1')
  return cleaned.search(directionMarks) === -1 ? cleaned : cleaned.split('\n').map(withNeededMarks).join('\n')
}

/** Whether a text contains invisible characters that it does not need. */
export function hasInvisible(text: string): boolean {
  return withoutInvisible(text) !== text
}

/** Cleans all texts and member names in a JSON value. Returns the same value if nothing changed. */
export function withoutInvisibleIn<T>(value: T): T {
  return cleanedValue(value) as T
}

/** Cleans a text. Unpaired surrogates are replaced, because joining two texts later could combine them. */
function cleanedText(text: string): string {
  return withoutInvisible(text.toWellFormed())
}

/** Returns a name on one line, without invisible characters and controls. */
export function cleanedLine(name: string): string {
  return cleanedText(name).replace(/[\n\r\t\u0085\u2028\u2029]+/g, ' ').trim()
}

function cleanedValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanedText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(cleanedValue)
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const members = Object.entries(value)
  const cleaned = members.map(([name, member]) => [cleanedText(name), cleanedValue(member)] as const)
  const isSame = cleaned.every(([name, member], i) => name === members[i][0] && member === members[i][1])
  return isSame ? value : Object.fromEntries(cleaned)
}
