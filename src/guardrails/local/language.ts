/** Finds text in languages that are not allowed. */
import * as z from 'zod'
import { type GuardedText, provider, type Span, type Verdict } from '../provider.ts'
import { joined, oncePerText } from './view.ts'

/** The languages that can be distinguished: ISO 639-1 codes with franc's ISO 639-3 codes. */
const codes = Object.fromEntries(
  `
  af:afr am:amh ar:arb az:azj be:bel bg:bul bn:ben bs:bos ca:cat cs:ces da:dan de:deu el:ell en:eng es:spa et:ekk
  eu:eus fa:pes fi:fin fr:fra ga:gle gl:glg gu:guj ha:hau he:heb hi:hin hr:hrv hu:hun hy:hye id:ind ig:ibo is:isl
  it:ita ja:jpn ka:kat kk:kaz km:khm kn:kan ko:kor ky:kir lo:lao lt:lit lv:lvs mk:mkd ml:mal mn:khk mr:mar ms:zlm
  my:mya ne:npi nl:nld no:nob pa:pan pl:pol ps:pbu pt:por ro:ron ru:rus si:sin sk:slk sl:slv so:som sq:als sr:srp
  sv:swe sw:swh ta:tam te:tel tg:tgk th:tha tl:tgl tr:tur uk:ukr ur:urd uz:uzn vi:vie yo:yor zh:cmn zu:zul`.trim()
    .split(/\s+/).map((pair) => pair.split(':') as [string, string]),
)
const languages = Object.keys(codes)

/** Scripts and their languages. All other languages are written in Latin letters. */
const scripts = `
  Han:zh,ja Hiragana:ja Katakana:ja Hangul:ko Cyrillic:ru,uk,be,bg,sr,mk,kk,ky,mn,tg,bs,az,uz
  Arabic:ar,fa,ur,ps,kk,ms,ha,pa Devanagari:hi,mr,ne Greek:el Hebrew:he Armenian:hy Georgian:ka Thai:th Lao:lo
  Khmer:km Myanmar:my Bengali:bn Gujarati:gu Gurmukhi:pa Tamil:ta Telugu:te Kannada:kn Malayalam:ml Sinhala:si
  Ethiopic:am`.trim().split(/\s+/).map((row) => ({ name: row.split(':')[0], languages: row.split(':')[1].split(',') }))
/** Languages that are written in Latin letters, even if not exclusively. */
const latin = languages.filter((language) =>
  ['az', 'bs', 'ha', 'ms', 'sr', 'uz'].includes(language) ||
  !scripts.some(({ languages }) => languages.includes(language))
)
/** Scripts shared by several languages, which franc distinguishes by their letter sequences. */
const guessed = ['Latin', 'Cyrillic', 'Arabic', 'Devanagari'].map((name) => {
  const written = name === 'Latin' ? latin : scripts.find((script) => script.name === name)!.languages
  return { letters: new RegExp(`\\p{Script=${name}}+`, 'gu'), only: written.map((language) => codes[language]) }
})

/** Minimum number of letters in a script for it to count as text rather than a name or a quotation. */
const fewestOfScript = 12
/**
 * Minimum number of letters for detecting a language, and maximum length of a section in code units. franc ignores any
 * text after that length.
 */
const fewestLetters = 60
const stretchLength = 2_048
/** Minimum likelihood, relative to the likeliest language, at which another language may be the right one. */
const nearlyAsLikely = 0.85

/** Loaded for the first message that needs it, because its tables take several megabytes. */
let franc: typeof import('franc') | undefined

export const language = provider({
  id: 'language',
  name: 'Language',
  kind: 'local',
  description: 'Finds messages in languages that are not allowed. Ignores short or unclear texts, code and names.',
  config: {
    languages: z.array(z.enum(languages)).min(1).describe('Allowed languages, by ISO 639-1, such as en'),
  },
  prepare({ languages: allowed }) {
    const others = scripts.filter(({ languages }) => !languages.some((language) => allowed.includes(language)))
    const otherScripts = others.map(({ name }) => new RegExp(`\\p{Script=${name}}+`, 'gu'))
    return (guarded) =>
      franc ? check(guarded, allowed, otherScripts) : import('franc').then((library) => {
        franc = library
        return check(guarded, allowed, otherScripts)
      })
  },
})

function check(guarded: GuardedText, allowed: readonly string[], otherScripts: readonly RegExp[]): Verdict {
  const { prose, stretches } = proseOf(guarded.text)
  const spans = joined([
    ...otherScripts.flatMap((letters) => writtenIn(prose, letters)),
    ...stretches.filter((stretch) => isOther(stretch, allowed)),
  ])
  return spans.length > 0 ? { kinds: ['language that is not allowed'], spans } : { kinds: [] }
}

interface Stretch extends Span {
  readonly isLatin: boolean
  readonly likely: readonly string[]
}

/** Returns a message's text without code, and its sections with their likely languages. Sections end between words. */
const proseOf = oncePerText((text) => {
  const prose = withoutCode(text)
  const stretches: Stretch[] = []
  for (let start = 0; start < prose.length;) {
    const space = prose.lastIndexOf(' ', start + stretchLength)
    const end = prose.length - start <= stretchLength ? prose.length : space > start ? space + 1 : start + stretchLength
    stretches.push({ start, end, ...languagesOf(prose.slice(start, end)) })
    start = end
  }
  return { prose, stretches }
})

/** Text that may not be prose: code in backticks, and words of ASCII characters. */
const words = /```[^`]*(?:```|$)|`[^`\n]*`|[!-~]+/g
/** Characters that mark code, addresses, paths and numbers. */
const mark = /[\d_/\\@={}<>;|$#()[\]`]/

/** Returns the text with code replaced by blanks. */
function withoutCode(text: string): string {
  return mark.test(text)
    ? text.replace(words, (found) => mark.test(found) ? found.replace(/[^\n]/g, ' ') : found)
    : text
}

/** Returns the runs of a script's letters, if the text has enough of them. */
function writtenIn(text: string, letters: RegExp): Span[] {
  const found = [...text.matchAll(letters)].map(({ 0: run, index }) => ({ start: index, end: index + run.length }))
  const count = found.reduce((sum, { start, end }) => sum + end - start, 0)
  return count >= fewestOfScript ? found : []
}

/** Returns a section's possible languages, judged by its letters. */
function languagesOf(text: string): Pick<Stretch, 'isLatin' | 'likely'> {
  const counts = guessed.map(({ letters }) => text.match(letters)?.join('').length ?? 0)
  const most = Math.max(...counts)
  if (most < fewestLetters) return { isLatin: false, likely: ['und'] }
  const likely = franc!.francAll(text, { only: guessed[counts.indexOf(most)].only })
    .filter(([, likelihood]) => likelihood >= nearlyAsLikely)
  return { isLatin: counts[0] >= fewestLetters, likely: likely.map(([code]) => code) }
}

function isOther({ isLatin, likely }: Stretch, allowed: readonly string[]): boolean {
  if (isLatin && !allowed.some((language) => latin.includes(language))) return true
  return !likely.includes('und') && !allowed.some((language) => likely.includes(codes[language]))
}
