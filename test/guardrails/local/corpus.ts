/** Texts with the expected findings of each local guardrail. */
import { readdirSync, readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { providers } from '../../../src/guardrails/providers.ts'
import type { GuardrailCheck, Verdict } from '../../../src/guardrails/provider.ts'

/** The local guardrails, as configured for the corpus. */
const configs: Record<string, unknown> = {
  'phrases': { phrases: ['blue heron', 'Project Nightingale'], preset: 'all' },
  'patterns': { patterns: ['(?i)\\bconfidential\\b', '\\bproject-x-\\d+\\b', '(a+)+!$'] },
  'pii': {},
  'invisible-text': {},
  'length': { maxCharacters: 2_000 },
  'language': { languages: ['en', 'de', 'fr', 'es', 'pt', 'it', 'ru', 'zh', 'ja', 'ar', 'hi', 'ko', 'tr'] },
}

export const localGuardrails: { id: string; check: GuardrailCheck }[] = Object.entries(configs).map(([id, config]) => ({
  id,
  check: prepared(id, config),
}))

/** Returns the check for a configuration, completed with the defaults of its schema. */
export function prepared(id: string, config: unknown): GuardrailCheck {
  const provider = providers.find((provider) => provider.id === id)!
  return provider.prepare(provider.config.parse(config))
}

/** Returns the verdict on an agent's text. Local guardrails respond synchronously once they are loaded. */
export function verdictOn(check: GuardrailCheck, text: string): Verdict {
  const guarded = { text, direction: 'outbound', sender: '@alice', recipient: '@bob' } as const
  const fetch = () => Promise.reject(new Error('A local guardrail asks nobody'))
  return check(guarded, { fetch, now: Date.now, signal: AbortSignal.timeout(1_000) }) as Verdict
}

await Promise.all(localGuardrails.map(({ check }) => verdictOn(check, '')))

/** Returns the objectionable pieces, as they occur in the text. */
export function foundIn(text: string, { spans = [] }: Verdict): string[] {
  return spans.map(({ start, end }) => text.slice(start, end))
}

export interface CorpusText {
  /** The text's file and line, such as `keys.txt:12`. */
  readonly place: string
  readonly text: string
  /** The guardrails that must object to it. */
  readonly expected: ReadonlySet<string>
}

const folder = new URL('../corpus/', import.meta.url)

/**
 * Returns the texts in all files. `#` begins a comment, `>` gives the expectation for the following texts, and every
 * other line is a text, escaped like a JSON string. Keys are generated from `{PREFIX:LENGTH}`, so no file contains one.
 */
export function corpus(): CorpusText[] {
  return readdirSync(folder).sort().flatMap((file) => {
    let expected = new Set<string>()
    return readFileSync(new URL(file, folder), 'utf8').split('\n').flatMap((line, i) => {
      if (line.startsWith('> ')) expected = new Set(line.slice(2).split(' ').filter((id) => id !== 'none'))
      if (/^(?:#( |$)|> |$)/.test(line)) return []
      return [{ place: `${file}:${i + 1}`, text: textOf(line), expected }]
    })
  })
}

function textOf(line: string): string {
  if (line === '{long}') return 'It is fine. '.repeat(200)
  if (line === '{short}') return 'Is it so? '.repeat(200)
  return line.replace(
    /\{([^{}"]*):(\d+|own)(?::(hex|upper))?\}/g,
    (_, prefix: string, length: string, letters?: string) =>
      length === 'own' ? ownKey(prefix) : prefix + randomText(Number(length), letters),
  ).replace(
    /\\(?:u\{([0-9a-f]+)\}|u([0-9a-f]{4})|([nt\\]))/g,
    (_, long?: string, short?: string, char?: string) =>
      char ? { n: '\n', t: '\t', '\\': '\\' }[char]! : String.fromCodePoint(Number.parseInt((long ?? short)!, 16)),
  )
}

const alphabets: Record<string, string> = {
  hex: '0123456789abcdef',
  upper: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  all: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
}

/** Returns random-looking letters that are always the same. */
function randomText(length: number, letters = 'all'): string {
  const alphabet = alphabets[letters]
  return Array.from({ length }, (_, i) => alphabet[(i * i * 7 + i * 13 + length) % 61 % alphabet.length]).join('')
}

/** Returns a well-formed key of the grid. */
function ownKey(prefix: string): string {
  const body = prefix + randomText(43)
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let check = ''
  for (let i = 0, left = crc32(body); i < 6; i++, left = Math.floor(left / 62)) check = digits[left % 62] + check
  return body + check
}
