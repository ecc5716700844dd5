/** The changes to files, as people read them. Nothing is shown but what is put in or taken out: files have secrets. */
import { homedir } from 'node:os'
import { sep } from 'node:path'
import { type FileChange, isChange } from './files/change.ts'
import type { Insertion, WrittenFile } from './files/written-file.ts'

/** Of a file that is new or removed as a whole, no more is shown. */
const shownLines = 12

export function differenceOf(changes: readonly FileChange[], secrets: readonly string[]): string {
  const text = changes.map(fileDifference).join('\n\n')
  return secrets.filter(Boolean).reduce((shown, secret) => shown.replaceAll(secret, masked(secret)), text)
}

function shortPath(path: string): string {
  const home = homedir()
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path
}

function fileDifference(change: FileChange): string {
  const { path, current, next, mode, oldMode, written, removed } = change
  if (!isChange(change)) return `${shortPath(path)} stays as it is`
  const what = next === undefined ? 'is removed' : current === undefined ? 'is new' : 'is changed'
  const narrowed = oldMode !== undefined && mode !== undefined
    ? `; only you can read it from now on, because it has a key (${octal(oldMode)} becomes ${octal(mode)})`
    : ''
  const taken = removed ? marked('-', current ?? '', removed) : []
  const put = written && next !== current ? marked('+', next ?? '', written) : []
  return [`${shortPath(path)} ${what}${narrowed}`, ...taken, ...put].join('\n')
}

function marked(sign: '+' | '-', whole: string, { format, insertions }: WrittenFile): string[] {
  const texts = format === 'own' ? [whole] : inserted(insertions)
  const lines = texts.flatMap((text) => text.split(/\r?\n/)).filter((line) => !/^\s*,?\s*$/.test(line))
  const more = format === 'own' && lines.length > shownLines ? lines.length - shownLines : 0
  const shown = more === 0 ? lines : lines.slice(0, shownLines)
  return [...shown.map((line) => `  ${sign} ${line}`), ...(more === 0 ? [] : [`  ${sign} … ${more} more lines`])]
}

/** The pieces of a file that were put in, in its order. An insertion may stand within one before it. */
function inserted(insertions: readonly Insertion[]): string[] {
  let pieces: Insertion[] = []
  for (const { at, text } of insertions) {
    const isAround = (piece: Insertion) => piece.at < at && at <= piece.at + piece.text.length
    const around = pieces.find(isAround)
    pieces = pieces.map((piece) =>
      piece === around
        ? { at: piece.at, text: piece.text.slice(0, at - piece.at) + text + piece.text.slice(at - piece.at) }
        : piece.at < at
        ? piece
        : { at: piece.at + text.length, text: piece.text }
    )
    if (around === undefined) pieces.push({ at, text })
  }
  return pieces.sort((a, b) => a.at - b.at).map(({ text }) => text)
}

function masked(secret: string): string {
  return `${secret.match(/^[a-z]+_[a-z]+_/)?.[0] ?? ''}…${secret.slice(-4)}`
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
