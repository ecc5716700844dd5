/** Values in a JSON file of others: put in and taken out without touching anything else. Comments and order stay. */
import { getNodeValue, type Node, parse, type ParseError } from 'jsonc-parser'
import {
  childIndent,
  closing,
  commaAfter,
  endOfComments,
  endOfLine,
  isOpen,
  layoutOf,
  ownIndent,
  parseFile,
  printed,
  withoutMark,
} from './json-layout.ts'
import {
  type Entry,
  FileRefusedError,
  hashOfValue,
  insertAll,
  type Insertion,
  type Json,
  placeName,
  type WrittenEntry,
} from './written-file.ts'

/** What putting in a value did. */
interface Put {
  insertions: Insertion[]
  entry: WrittenEntry
}

/** Where a value is, or would be. */
interface Place {
  /** The innermost container that is there. */
  container: Node
  /** How many of the names lead to it. */
  depth: number
}

/** Put a value into the text of a file. Fails with `FileRefusedError` if another one is there, or no place for it. */
export function putEntry(path: string, text: string, entry: Entry): Put {
  const written = { container: entry.container, name: entry.name, hash: hashOfValue(entry.value) }
  if (text.trim() === '') {
    const whole = nested(entry, 0)
    const made = entry.container.length + 1
    const insertions = [{ at: text.startsWith('\ufeff') ? 1 : 0, text: `${JSON.stringify(whole, null, 2)}\n` }]
    return { insertions, entry: { ...written, made, comma: false, inside: text } }
  }
  const { container, depth } = placeOf(path, parseFile(path, text), entry)
  if (depth === entry.container.length && valueAt(container, entry.name) !== undefined) {
    throw new FileRefusedError(
      path,
      `already has ${placeName(entry)}, which was not written by "agent-grid connect". Remove or rename it first.`,
    )
  }
  // It is taken over if it is there already, such as after the list of connections was lost.
  const isWhole = depth === entry.container.length && entry.name === undefined
  if (isWhole && find(container, { ...written, container: [] }) !== undefined) {
    return { insertions: [], entry: { ...written, made: 0, comma: true } }
  }
  const { insertions, ...how } = insert(text, container, entry, depth)
  check(path, text, insertions, entry)
  return { insertions, entry: { ...written, ...how, made: entry.container.length - depth } }
}

/** Whether a value is in a file as it was written, was changed, or is not there. */
export function stateOf(path: string, text: string, entry: Omit<WrittenEntry, 'made' | 'comma'>): EntryState {
  if (text.trim() === '') return 'gone'
  const root = parseFile(path, text)
  const found = find(root, entry)
  if (found) return 'there'
  return entry.name !== undefined && nodeAt(root, [...entry.container, entry.name]) ? 'changed' : 'gone'
}

/** The hash of all that a file says, without its comments; undefined if it is no JSON. */
export function hashOfFile(text: string): string | undefined {
  const errors: ParseError[] = []
  const value = parse(withoutMark(text), errors, { allowTrailingComma: true })
  // A comment is something that is left.
  return errors.length > 0 || /\/[/*]/.test(text) ? undefined : hashOfValue(value)
}

/** What became of a value that was written. */
export type EntryState = 'there' | 'changed' | 'gone'

/** Take a value out of the text of a file that others have changed since. The value has to be there. */
export function takeEntry(path: string, text: string, entry: WrittenEntry): string {
  const root = parseFile(path, text)
  const isStrict = isStrictJson(text)
  let names = entry.container
  let node = find(root, entry)!
  let made = entry.made
  // Containers that were made for it go with it, if nothing else is in them now.
  while (made > 0 && names.length > 0) {
    const container = nodeAt(root, names)!
    if (container.children!.length > 1 || hasComment(text, container)) break
    node = container.parent!
    names = names.slice(0, -1)
    made--
  }
  const container = nodeAt(root, names)!
  if (made > 0 && names.length === 0 && container.children!.length === 1 && !hasComment(text, root)) {
    return entry.inside ?? ''
  }
  return without(text, container, node, isStrict || entry.comma, made === 0 ? entry.inside : undefined)
}

function insert(text: string, container: Node, entry: Entry, depth: number) {
  const layout = layoutOf(text, container.parent ? rootOf(container) : container)
  const name = depth === entry.container.length ? entry.name : entry.container[depth]
  const value = depth === entry.container.length ? entry.value : nested(entry, depth + 1)
  const open = isOpen(text, container, layout)
  const indent = open ? childIndent(text, container, layout.unit!) : ''
  const space = layout.unit === undefined && !/":\s/.test(text) ? '' : ' '
  const label = name === undefined ? '' : `${JSON.stringify(name)}:${space}`
  const body = label + printed(value, open ? layout : { ...layout, unit: undefined }, indent)
  const last = container.children?.at(-1)
  if (last === undefined) {
    const at = endOfComments(text, container)
    const rest = text.slice(at, closing(container))
    const end = !open || rest.includes('\n') ? '' : layout.eol + ownIndent(text, container)
    const hasOnlySpace = /^\s*$/.test(text.slice(container.offset + 1, closing(container)))
    const inside = hasOnlySpace ? rest : undefined
    return { insertions: [{ at, text: (open ? layout.eol + indent : '') + body + end }], comma: false, inside }
  }
  const line = (open ? layout.eol + indent : space) + body
  const comma = commaAfter(text, last, container)
  if (comma !== undefined) {
    return { insertions: [{ at: endOfLine(text, comma + 1, container), text: line }], comma: false }
  }
  const after = last.offset + last.length
  const at = endOfLine(text, after, container)
  if (at === after) return { insertions: [{ at, text: `,${line}` }], comma: true }
  return { insertions: [{ at: after, text: ',' }, { at: at + 1, text: line }], comma: true }
}

/** Remove one value of a container with the white space before it, and a comma. */
function without(text: string, container: Node, node: Node, takesComma: boolean, inside: string | undefined): string {
  const siblings = container.children!
  const index = siblings.indexOf(node)
  let start = node.offset
  while (/\s/.test(text[start - 1])) start--
  const end = node.offset + node.length
  const own = commaAfter(text, node, container)
  const cut = (from: number, to: number, rest: string) => rest.slice(0, from) + rest.slice(to)
  if (siblings.length === 1) {
    const rest = cut(start, end, own === undefined ? text : cut(own, own + 1, text))
    const [from, to] = [container.offset + 1, closing(container) - (text.length - rest.length)]
    return /^\s*$/.test(rest.slice(from, to)) ? rest.slice(0, from) + (inside ?? '') + rest.slice(to) : rest
  }
  if (index < siblings.length - 1) return cut(start, end, cut(own!, own! + 1, text))
  const rest = cut(start, end, text)
  // A trailing comma behind it becomes that of the value before it.
  if (own === undefined && !takesComma) return rest
  const before = commaAfter(text, siblings[index - 1], container)!
  return cut(before, before + 1, rest)
}

/** The innermost container on the way that is there. Fails if something else is in its place, or it is there twice. */
function placeOf(path: string, root: Node, { container: names, name }: Entry): Place {
  let node = root
  for (let depth = 0;; depth++) {
    const wantsArray = depth === names.length && name === undefined
    const expected = wantsArray ? 'array' : 'object'
    const here = depth === 0 ? 'its whole text' : names.slice(0, depth).join('.')
    if (node.type !== expected) {
      throw new FileRefusedError(path, `has no ${expected} in ${here}. Nothing was changed; mend it first.`)
    }
    const next = depth < names.length ? names[depth] : name
    if (next !== undefined && membersNamed(node, next).length > 1) {
      throw new FileRefusedError(path, `has "${next}" twice in ${here}. Nothing was changed; mend it first.`)
    }
    if (depth === names.length) return { container: node, depth }
    const child = valueAt(node, next)
    if (child === undefined) return { container: node, depth }
    node = child
  }
}

function membersNamed(node: Node, name: string): Node[] {
  return (node.children ?? []).filter((member) => member.type === 'property' && member.children![0].value === name)
}

function valueAt(node: Node, name: string | undefined): Node | undefined {
  return name === undefined ? undefined : membersNamed(node, name)[0]?.children?.[1]
}

function nodeAt(root: Node, names: readonly string[]): Node | undefined {
  return names.reduce<Node | undefined>((node, name) => node && valueAt(node, name), root)
}

/** The member or element with exactly the value that was written. */
function find(root: Node, { container: names, name, hash }: Pick<WrittenEntry, 'container' | 'name' | 'hash'>) {
  const container = nodeAt(root, names)
  if (name === undefined) {
    return container?.children?.findLast((element) => hashOfValue(getNodeValue(element)) === hash)
  }
  const member = container && membersNamed(container, name)[0]
  return member?.children?.[1] && hashOfValue(getNodeValue(member.children[1])) === hash ? member : undefined
}

/** The value inside the containers that are missing from `depth` on. */
function nested({ container, name, value }: Entry, depth: number): Json {
  const innermost: Json = name === undefined ? [value] : { [name]: value }
  return container.slice(depth).reduceRight<Json>((inner, outer) => ({ [outer]: inner }), innermost)
}

/** After the edit, the file has to say what it said before, and the new value. */
function check(path: string, text: string, insertions: Insertion[], entry: Entry): void {
  const expected = withEntry(getNodeValue(parseFile(path, text)), entry, 0)
  const after = getNodeValue(parseFile(path, insertAll(text, insertions)))
  if (hashOfValue(after) !== hashOfValue(expected)) {
    throw new FileRefusedError(
      path,
      `is laid out in a way that cannot be edited safely. Add ${placeName(entry)} by hand.`,
    )
  }
}

function withEntry(value: Json, entry: Entry, depth: number): Json {
  if (depth === entry.container.length) {
    return entry.name === undefined
      ? [...(value as Json[]), entry.value]
      : { ...(value as object), [entry.name]: entry.value }
  }
  const name = entry.container[depth]
  const members = value as { [name: string]: Json }
  const inner = Object.hasOwn(members, name) ? withEntry(members[name], entry, depth + 1) : nested(entry, depth + 1)
  return { ...members, [name]: inner }
}

function rootOf(node: Node): Node {
  let root = node
  while (root.parent) root = root.parent
  return root
}

function hasComment(text: string, container: Node): boolean {
  const [only] = container.children!
  const outside = text.slice(container.offset + 1, only.offset) +
    text.slice(only.offset + only.length, closing(container))
  return /\/[/*]/.test(outside)
}

function isStrictJson(text: string): boolean {
  try {
    JSON.parse(withoutMark(text))
    return true
  } catch {
    return false
  }
}
