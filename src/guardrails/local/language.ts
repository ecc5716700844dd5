/** Finds texts in languages that are not allowed. */
import { data } from 'franc/data.js'
import { expressions } from 'franc/expressions.js'
import * as z from 'zod'
import { provider, type Span, type Verdict } from '../provider.ts'
import { LanguageModel, sampleLength } from './language-model.ts'
import { hasAny, kinds } from './traits.ts'
import { joined } from './view.ts'

/** The languages that can be told apart, by ISO 639-1, with the codes of ISO 639-3 by which they are recognized. */
const codes = {
  af: 'afr',
  am: 'amh',
  ar: 'arb',
  az: 'azj',
  be: 'bel',
  bg: 'bul',
  bn: 'ben',
  bs: 'bos',
  ca: 'cat',
  cs: 'ces',
  da: 'dan',
  de: 'deu',
  el: 'ell',
  en: 'eng',
  es: 'spa',
  et: 'ekk',
  eu: 'eus',
  fa: 'pes',
  fi: 'fin',
  fr: 'fra',
  ga: 'gle',
  gl: 'glg',
  gu: 'guj',
  ha: 'hau',
  he: 'heb',
  hi: 'hin',
  hr: 'hrv',
  hu: 'hun',
  hy: 'hye',
  id: 'ind',
  ig: 'ibo',
  is: 'isl',
  it: 'ita',
  ja: 'jpn',
  ka: 'kat',
  kk: 'kaz',
  km: 'khm',
  kn: 'kan',
  ko: 'kor',
  ky: 'kir',
  lo: 'lao',
  lt: 'lit',
  lv: 'lvs',
  mk: 'mkd',
  ml: 'mal',
  mn: 'khk',
  mr: 'mar',
  ms: 'zlm',
  my: 'mya',
  ne: 'npi',
  nl: 'nld',
  no: 'nob',
  pa: 'pan',
  pl: 'pol',
  ps: 'pbu',
  pt: 'por',
  ro: 'ron',
  ru: 'rus',
  si: 'sin',
  sk: 'slk',
  sl: 'slv',
  so: 'som',
  sq: 'als',
  sr: 'srp',
  sv: 'swe',
  sw: 'swh',
  ta: 'tam',
  te: 'tel',
  tg: 'tgk',
  th: 'tha',
  tl: 'tgl',
  tr: 'tur',
  uk: 'ukr',
  ur: 'urd',
  uz: 'uzn',
  vi: 'vie',
  yo: 'yor',
  zh: 'cmn',
  zu: 'zul',
} as const
type Language = keyof typeof codes
const languages = Object.keys(codes) as [Language, ...Language[]]

/** Scripts, and the languages that they are of. All others are written in Latin letters. */
const scripts: readonly { name: string; languages: readonly Language[] }[] = [
  { name: 'Han', languages: ['zh', 'ja'] },
  { name: 'Hiragana', languages: ['ja'] },
  { name: 'Katakana', languages: ['ja'] },
  { name: 'Hangul', languages: ['ko'] },
  { name: 'Cyrillic', languages: ['ru', 'uk', 'be', 'bg', 'sr', 'mk', 'kk', 'ky', 'mn', 'tg', 'bs', 'az', 'uz'] },
  { name: 'Arabic', languages: ['ar', 'fa', 'ur', 'ps', 'kk', 'ms', 'ha', 'pa'] },
  { name: 'Devanagari', languages: ['hi', 'mr', 'ne'] },
  { name: 'Greek', languages: ['el'] },
  { name: 'Hebrew', languages: ['he'] },
  { name: 'Armenian', languages: ['hy'] },
  { name: 'Georgian', languages: ['ka'] },
  { name: 'Thai', languages: ['th'] },
  { name: 'Lao', languages: ['lo'] },
  { name: 'Khmer', languages: ['km'] },
  { name: 'Myanmar', languages: ['my'] },
  { name: 'Bengali', languages: ['bn'] },
  { name: 'Gujarati', languages: ['gu'] },
  { name: 'Gurmukhi', languages: ['pa'] },
  { name: 'Tamil', languages: ['ta'] },
  { name: 'Telugu', languages: ['te'] },
  { name: 'Kannada', languages: ['kn'] },
  { name: 'Malayalam', languages: ['ml'] },
  { name: 'Sinhala', languages: ['si'] },
  { name: 'Ethiopic', languages: ['am'] },
]
/** Languages that are also written in Latin letters, or in no other. */
const latin: readonly Language[] = languages.filter((language) =>
  ['az', 'bs', 'ha', 'ms', 'sr', 'uz'].includes(language) ||
  !scripts.some(({ languages }) => languages.includes(language))
)

/** Fewest letters of a script from which on it is a text and not a name or a quotation. */
const fewestOfScript = 12
/**
 * Fewest letters for a guess by their frequency, and the length of the stretches that are guessed one by one. Of each
 * 2,048 characters are read, which is enough to tell.
 */
const fewestLetters = 60
const stretchLength = 3_400
/** A language that is as likely as this beside the likeliest one may be the right one. */
const nearlyAsLikely = 0.85

export const language = provider({
  id: 'language',
  name: 'Language',
  kind: 'local',
  description:
    'Finds messages in other languages than the allowed ones. It does not object to texts that are short or unclear, to code and to names.',
  config: {
    languages: z.array(z.enum(languages)).min(1).describe('Allowed languages, by ISO 639-1, such as en'),
  },
  prepare({ languages: allowed }) {
    const others = scripts.filter(({ languages }) => !languages.some((language) => allowed.includes(language)))
    const otherScripts = others.map(({ name }) => new RegExp(`\\p{Script=${name}}+`, 'gu'))
    return ({ text }) => check(text, allowed, otherScripts)
  },
})

function check(text: string, allowed: readonly Language[], otherScripts: readonly RegExp[]): Verdict {
  const isAscii = !hasAny(text, kinds.other)
  const prose = withoutCode(text)
  const spans = joined([
    ...(isAscii ? [] : otherScripts.flatMap((letters) => writtenIn(prose, letters))),
    ...stretches(prose).filter((span) => isOther(prose.slice(span.start, span.end), allowed, isAscii)),
  ])
  return spans.length > 0 ? { kinds: ['language that is not allowed'], spans } : { kinds: [] }
}

/** What may be no prose: code between backticks, and words of ASCII characters. */
const words = /```[^`]*(?:```|$)|`[^`\n]*`|[!-~]+/g
/** Code, addresses, paths and numbers have some of these. */
const mark = /[\d_/\\@={}<>;|$#()[\]`]/
const marks = new RegExp(mark, 'g')
const inWord = /[!-~]/

/** The text with blanks instead of code. */
function withoutCode(text: string): string {
  if (text.includes('`')) {
    return text.replace(words, (found) => mark.test(found) ? found.replace(/[^\n]/g, ' ') : found)
  }
  // The same, with a look only at words that have a mark.
  let prose = ''
  let copied = 0
  marks.lastIndex = 0
  for (let match = marks.exec(text); match; match = marks.exec(text)) {
    let start = match.index
    while (start > copied && inWord.test(text[start - 1])) start--
    let end = match.index + 1
    while (end < text.length && inWord.test(text[end])) end++
    prose += text.slice(copied, start) + ' '.repeat(end - start)
    marks.lastIndex = copied = end
  }
  return prose + text.slice(copied)
}

/** The stretches in the letters of a script, if there are enough of them. */
function writtenIn(text: string, letters: RegExp): Span[] {
  const found = [...text.matchAll(letters)].map(({ 0: run, index }) => ({ start: index, end: index + run.length }))
  const count = found.reduce((sum, { start, end }) => sum + end - start, 0)
  return count >= fewestOfScript ? found : []
}

/** The text in stretches that end between words. */
function stretches(text: string): Span[] {
  const spans: Span[] = []
  for (let start = 0; start < text.length;) {
    const space = text.lastIndexOf(' ', start + stretchLength)
    const end = text.length - start <= stretchLength ? text.length : space > start ? space + 1 : start + stretchLength
    spans.push({ start, end })
    start = end
  }
  return spans
}

/** Scripts of several languages that are told apart by the frequency of letters, with the codes of those. */
const guessed = ['Latin', 'Cyrillic', 'Arabic', 'Devanagari'].map((name) => {
  const languages = name === 'Latin' ? latin : scripts.find((script) => script.name === name)!.languages
  const only = languages.map((language) => codes[language])
  const models = new Map<string, LanguageModel>()
  /** Tells the languages apart in the letters of this script, or of another one that some of them are written in. */
  function modelOf(script = name): LanguageModel {
    let model = models.get(script)
    if (!model) models.set(script, model = new LanguageModel(script, only))
    return model
  }
  return { letters: new RegExp(`\\p{Script=${name}}+`, 'gu'), only, modelOf }
})

/** Whether a stretch is in another language than the allowed ones, as far as the frequency of its letters tells. */
function isOther(text: string, allowed: readonly Language[], isAscii: boolean): boolean {
  const counts = letterCounts(text, isAscii)
  const most = Math.max(...counts)
  if (most < fewestLetters) return false
  if (counts[0] >= fewestLetters && !allowed.some((language) => latin.includes(language))) return true
  const likely = likelyLanguages(text, counts.indexOf(most), most, isAscii)
  return likely.length > 0 && !likely.some((code) => code === 'und' || allowed.some((one) => codes[one] === code))
}

/** How many letters of each guessed script a text has. */
function letterCounts(text: string, isAscii: boolean): number[] {
  if (!isAscii) return guessed.map(({ letters }) => text.match(letters)?.join('').length ?? 0)
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const small = text.charCodeAt(i) | 0x20
    if (small >= 0x61 && small <= 0x7a) count++
  }
  return [count, 0, 0, 0]
}

/** The codes of the languages that may be the right ones, or `und`. The text has `count` letters of the script. */
function likelyLanguages(text: string, script: number, count: number, isAscii: boolean): string[] {
  const { only, modelOf } = guessed[script]
  const sample = text.slice(0, sampleLength)
  const inSample = sample === text ? count : letterCounts(sample, isAscii)[script]
  if (inSample > sample.length / 2) return modelOf().likely(sample, nearlyAsLikely)
  // The sample is mixed: the script with most letters in it decides. Importing franc itself would take 2 MB.
  const chosen = mostUsedScript(sample)
  const known = data[chosen] ?? {}
  if (!only.some((language) => language in known)) return ['und']
  return modelOf(chosen).likely(sample, nearlyAsLikely)
}

/** As franc names it; the first one of those with as many letters. */
function mostUsedScript(text: string): string {
  const counts = Object.values(expressions).map((letters) => text.match(letters)?.length ?? 0)
  return Object.keys(expressions)[counts.indexOf(Math.max(...counts))]
}
