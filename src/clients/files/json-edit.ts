/** Adds and removes values in other programs' JSON files. Everything else stays, including comments and order. */
import { readFileSync } from 'node:fs'
import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  parse,
  type ParseError,
  parseTree,
} from 'jsonc-parser'
import {
  type Entry,
  FileRefusedError,
  hashOfValue,
  type Insertion,
  type Json,
  type Put,
  type WrittenEntry,
} from './written-file.ts'

/** Token kinds, numbered as in jsonc-parser's `SyntaxKind`. */
const kinds = { comma: 5, lineComment: 12, blockComment: 13, lineBreak: 14, space: 15, endOfFile: 17 }

/** Adds a value to a file's text. Fails with `FileRefusedError` if the value cannot be added at its path. */
export function putEntry(path: string, text: string, entry: Entry): Put {
  const { container: names, name } = entry
  // Returns the paths of the missing containers below a depth.
  const madeFrom = (depth: number) => names.map((_, n) => names.slice(0, n + 1)).slice(depth)
  if (text.trim() === '') {
    const insertion = { at: text.startsWith('\ufeff') ? 1 : 0, text: `${JSON.stringify(nested(entry, 0), null, 2)}\n` }
    return { insertions: [insertion], made: [[], ...madeFrom(0)] }
  }
  const { container, depth } = placeOf(path, parseFile(path, text), entry)
  const isInside = depth === names.length
  const insertions = insert(
    text,
    container,
    isInside ? name : names[depth],
    isInside ? entry.value : nested(entry, depth + 1),
  )
  return { insertions, made: madeFrom(depth) }
}

/** A file's value; undefined if the file is empty. Fails with `FileRefusedError`. */
export function readValue(path: string, text: string): Json | undefined {
  return text.trim() === '' ? undefined : getNodeValue(parseFile(path, text))
}

/** The hash of a file's value; undefined for invalid JSON, and for a file with comments, which must not be removed. */
export function hashOfFile(text: string): string | undefined {
  const errors: ParseError[] = []
  const value = parse(withoutMark(text), errors, { allowTrailingComma: true })
  return errors.length > 0 || /\/[/*]/.test(text) ? undefined : hashOfValue(value)
}

/** A file's value; comments are allowed. Returns an empty object if the file cannot be parsed. */
export function readJsonc(path: string): Record<string, unknown> {
  try {
    const value = parse(readFileSync(path, 'utf8'), [], { allowTrailingComma: true })
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Removes an array element by its hash, or an object member by its name. */
export function takeEntry(path: string, text: string, { container: names, name, hash }: WrittenEntry): string {
  const root = parseFile(path, text)
  const container = findNodeAtLocation(root, [...names])!
  const node = name === undefined
    ? container.children!.findLast((element) => hashOfValue(getNodeValue(element)) === hash)!
    : membersNamed(container, name)[0]
  return without(text, container, node)
}

/** Removes an empty container, unless it contains a comment. */
export function takeEmpty(path: string, text: string, names: readonly string[]): string {
  const root = parseFile(path, text)
  const node = findNodeAtLocation(root, [...names])!
  if (/\/[/*]/.test(spanOf(text, node))) return text
  return node === root ? '' : without(text, node.parent!.parent!, node.parent!)
}

/** Inserts a value at the end of a container, following the file's layout. */
function insert(text: string, container: Node, name: string | undefined, value: Json): Insertion[] {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = indentUnit(text, rootOf(container))
  const last = container.children?.at(-1)
  // An empty container is split into lines if the file has several lines.
  const isOpen = unit !== undefined && (last === undefined || spanOf(text, container).includes('\n'))
  const indent = isOpen ? indentIn(text, container, unit) : ''
  const space = unit === undefined && !/":\s/.test(text) ? '' : ' '
  const label = name === undefined ? '' : `${JSON.stringify(name)}:${space}`
  const printed = isOpen ? JSON.stringify(value, null, unit).replaceAll('\n', eol + indent) : JSON.stringify(value)
  if (last === undefined) {
    const at = endOfComments(text, container)
    const isClosedBelow = !isOpen || text.slice(at, closing(container)).includes('\n')
    const end = isClosedBelow ? '' : eol + lineIndent(text, container)
    return [{ at, text: (isOpen ? eol + indent : '') + label + printed + end }]
  }
  const line = (isOpen ? eol + indent : space) + label + printed
  const after = last.offset + last.length
  const comma = commaAfter(text, last, container)
  if (comma !== undefined) return [{ at: endOfLine(text, comma + 1, container), text: `${line},` }]
  return [{ at: after, text: ',' }, { at: endOfLine(text, after, container) + 1, text: line }]
}

/** Removes a value from a container, with one comma and the white space before the value. */
function without(text: string, container: Node, node: Node): string {
  const siblings = container.children!
  let start = node.offset
  while (/\s/.test(text[start - 1])) start--
  const end = node.offset + node.length
  const cut = (from: number, to: number, rest: string) => rest.slice(0, from) + rest.slice(to)
  const own = commaAfter(text, node, container)
  if (own !== undefined) return cut(start, end, cut(own, own + 1, text))
  const rest = cut(start, end, text)
  if (siblings.length > 1) {
    const before = commaAfter(text, siblings.at(-2)!, container)!
    return cut(before, before + 1, rest)
  }
  const [from, to] = [container.offset + 1, closing(container) - (text.length - rest.length)]
  return /^\s*$/.test(rest.slice(from, to)) ? cut(from, to, rest) : rest
}

/** Parses a file. Comments and trailing commas are allowed. Fails with `FileRefusedError`, which names the line. */
function parseFile(path: string, text: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(withoutMark(text), errors, { allowTrailingComma: true })
  if (errors.length === 0 && root !== undefined) return root
  const before = text.slice(0, errors[0]?.offset ?? 0).split('\n')
  const where = `line ${before.length}, column ${before.at(-1)!.length + 1}`
  throw new FileRefusedError(path, `is not valid JSON at ${where}. Nothing was changed; fix it first.`)
}

/** Replaces the byte order mark with a space, because JSON does not allow the mark. */
function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, ' ')
}

/**
 * The innermost existing container on the path. Fails if another kind of value or a duplicate member is on the path.
 */
function placeOf(path: string, root: Node, { container: names, name }: Entry): { container: Node; depth: number } {
  let node = root
  for (let depth = 0;; depth++) {
    const expected = depth === names.length && name === undefined ? 'array' : 'object'
    const here = depth === 0 ? 'its whole text' : names.slice(0, depth).join('.')
    if (node.type !== expected) {
      throw new FileRefusedError(path, `has no ${expected} in ${here}. Nothing was changed; fix it first.`)
    }
    const next = names[depth] ?? name
    if (next !== undefined && membersNamed(node, next).length > 1) {
      throw new FileRefusedError(path, `has "${next}" twice in ${here}. Nothing was changed; fix it first.`)
    }
    const child = depth === names.length ? undefined : findNodeAtLocation(node, [names[depth]])
    if (child === undefined) return { container: node, depth }
    node = child
  }
}

function membersNamed(node: Node, name: string): Node[] {
  return (node.children ?? []).filter((member) => member.type === 'property' && member.children![0].value === name)
}

/** A value, nested in the containers that are missing below `depth`. */
function nested({ container, name, value }: Entry, depth: number): Json {
  const innermost: Json = name === undefined ? [value] : { [name]: value }
  return container.slice(depth).reduceRight<Json>((inner, outer) => ({ [outer]: inner }), innermost)
}

function rootOf(node: Node): Node {
  return node.parent ? rootOf(node.parent) : node
}

/** One level of indentation; undefined if the file has a single line. */
function indentUnit(text: string, root: Node): string | undefined {
  const children = root.children ?? []
  if (children.length > 0 && !spanOf(text, root).includes('\n')) return undefined
  const first = children.find(({ offset }) => /^[ \t]+$/.test(lineStart(text, offset)))
  return first ? lineStart(text, first.offset) : '  '
}

function indentIn(text: string, container: Node, unit: string): string {
  const last = container.children?.at(-1)
  const ofLast = last && lineStart(text, last.offset)
  return ofLast !== undefined && /^[ \t]*$/.test(ofLast) ? ofLast : lineIndent(text, container) + unit
}

function lineIndent(text: string, node: Node): string {
  return lineStart(text, node.offset).match(/^[ \t]*/)![0]
}

function lineStart(text: string, offset: number): string {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
}

/** The end offset of the comments that follow on the same line. */
function endOfLine(text: string, from: number, container: Node): number {
  let end = from
  for (const { kind, start, stop } of tokens(text, from, container)) {
    if (kind === kinds.lineBreak || text.slice(start, stop).includes('\n')) break
    if (kind !== kinds.space) end = stop
  }
  return end
}

/** The offset of the comma after a value; undefined if there is none. */
function commaAfter(text: string, value: Node, container: Node): number | undefined {
  return tokens(text, value.offset + value.length, container).find(({ kind }) => kind === kinds.comma)?.start
}

/** The end offset of the last comment in an empty container; without comments, the offset where its content begins. */
function endOfComments(text: string, container: Node): number {
  const start = container.offset + 1
  const isComment = (kind: number) => kind === kinds.lineComment || kind === kinds.blockComment
  return tokens(text, start, container).findLast(({ kind }) => isComment(kind))?.stop ?? start
}

function closing(container: Node): number {
  return container.offset + container.length - 1
}

/** The tokens between an offset in a container and the container's end. */
function tokens(text: string, from: number, container: Node): { kind: number; start: number; stop: number }[] {
  const found = []
  const scanner = createScanner(text, false)
  scanner.setPosition(from)
  for (let kind: number = scanner.scan(); kind !== kinds.endOfFile; kind = scanner.scan()) {
    const start = scanner.getTokenOffset()
    if (start >= closing(container)) break
    found.push({ kind, start, stop: start + scanner.getTokenLength() })
  }
  return found
}

function spanOf(text: string, { offset, length }: Node): string {
  return text.slice(offset, offset + length)
}
