/**
 * Parses arguments as written by models and programs, using the call's JSON Schema. Unambiguous deviations are
 * accepted. See docs/protocol/README.md, "Arguments".
 */
import leven from 'leven'
import { invalidInput } from '../errors.ts'
import { apiLimits, parseCall, unkeptNumber } from './http/body.ts'

/** The arguments before validation. */
export type Arguments = Record<string, unknown>

/** The part of JSON Schema used here. */
export interface ArgumentSchema {
  type?: unknown
  properties?: Readonly<Record<string, ArgumentSchema>>
  required?: readonly string[]
  items?: ArgumentSchema
  anyOf?: readonly ArgumentSchema[]
  maximum?: number
}

/** How a call treats unknown arguments. */
export interface ArgumentRules {
  /** The tool or route, as error messages name it. */
  call: string
  /** Whether to refuse all unknown arguments, because ignoring one could do the opposite of the caller's intention. */
  isStrict: boolean
}

/** The grid's interpretation of a call. */
export interface ReadArguments {
  args: Arguments
  /** Changes that the response must report, so that callers do not assume that more was done. */
  remarks: { clipped?: Record<string, number>; ignored?: string[] }
}

/** Arguments that callers rely on. An empty value is an error and does not count as absent. */
const neverEmpty = ['acks', 'lease_id', 'message_ids', 'hash']
/** Arguments whose absence makes a call do more, so null is also an error. */
const neverNull = ['lease_id', 'message_ids', 'hash']
const maxIgnored = 20
const maxNameLength = 64

/**
 * Treats null and empty texts as absent, converts texts to the type that the schema requires, and reduces numbers to
 * their maximum. Fails with `invalid_input` for an unknown argument if it resembles a known one, a required one is
 * missing, or the rules are strict. Otherwise, ignores unknown arguments.
 */
export function readArguments(schema: ArgumentSchema, given: Arguments, rules: ArgumentRules): ReadArguments {
  const clipped: Record<string, number> = {}
  const ignored: string[] = []
  const { properties = {}, required = [] } = schema
  const missing = required.filter((name) => given[name] == null)
  const known: Arguments = {}
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(properties, name)) known[name] = value
    else if (value === null) continue
    else checkUnknown(name, { known: Object.keys(properties), missing }, rules, ignored)
  }
  const args = readMembers(schema, known, '', clipped)
  return {
    args,
    remarks: {
      ...(Object.keys(clipped).length > 0 && { clipped }),
      ...(ignored.length > 0 && { ignored }),
    },
  }
}

function readMembers(
  { properties = {}, required = [] }: ArgumentSchema,
  given: Arguments,
  path: string,
  clipped: Record<string, number>,
): Arguments {
  const read: Arguments = {}
  for (const [name, value] of Object.entries(given)) {
    const schema = properties[name]
    const isAbsent = value === null
      ? !neverNull.includes(name)
      : value === '' && !required.includes(name) && !neverEmpty.includes(name)
    if (isAbsent && !takesNull(schema)) continue
    read[name] = schema ? readValue(schema, value, `${path}${name}`, clipped) : value
  }
  return read
}

function readValue(
  schema: ArgumentSchema,
  given: unknown,
  path: string,
  clipped: Record<string, number>,
): unknown {
  const value = typeof given === 'string' ? fromText(given, schema.type, path) : given
  if (schema.type === 'integer' && typeof value === 'number' && value > (schema.maximum ?? Infinity)) {
    return clipped[path] = schema.maximum!
  }
  if (schema.type === 'array' && !Array.isArray(value)) {
    throw invalidInput(`${path} must be an array, such as ${JSON.stringify(exampleOf(schema))}.`, path)
  }
  if (Array.isArray(value)) return value.map((entry, n) => readEntry(schema.items, entry, `${path}.${n}.`, clipped))
  if (schema.type !== 'object' || !schema.properties) return value
  if (!isObject(value)) {
    throw invalidInput(`${path} must be an object, such as ${JSON.stringify(exampleOf(schema))}.`, path)
  }
  return readMembers(schema, value, `${path}.`, clipped)
}

/** Parses an entry that is an object. Returns any other entry unchanged. */
function readEntry(
  items: ArgumentSchema | undefined,
  entry: unknown,
  path: string,
  clipped: Record<string, number>,
): unknown {
  const schema = [items, ...items?.anyOf ?? []].find((schema) => schema?.properties)
  return schema && isObject(entry) ? readMembers(schema, entry, path, clipped) : entry
}

/**
 * Converts a text to this JSON Schema type. Returns the text itself if the conversion is ambiguous. `path` is the
 * argument's path.
 */
export function fromText(text: string, type: unknown, path = ''): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text.trim())) return Number(text)
  if (type === 'boolean' && /^(true|false)$/i.test(text.trim())) return text.trim().toLowerCase() === 'true'
  if (type !== 'array' && type !== 'object') return text
  const { value, refused } = parsedText(text)
  if (!(type === 'array' ? Array.isArray(value) : isObject(value))) return text
  if (refused) throw unkeptNumber([path, refused.details.field].filter(Boolean).join('.'))
  return value
}

/** Parses a text as JSON. The result has no value if the text is not JSON. */
function parsedText(text: string): Partial<ReturnType<typeof parseCall>> {
  try {
    return parseCall(text, apiLimits)
  } catch {
    return {}
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the schema accepts null, which clears the value. */
function takesNull(schema: ArgumentSchema | undefined): boolean {
  return [schema?.type].flat().includes('null') || (schema?.anyOf?.some(takesNull) ?? false)
}

function exampleOf({ type, items, properties, required = [], anyOf }: ArgumentSchema): unknown {
  if (anyOf) return exampleOf(anyOf[0])
  if (type === 'array') return [exampleOf(items ?? {})]
  if (type !== 'object') return '…'
  // The schema of a message's parts does not list their members.
  if (!properties) return { text: '…' }
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name])]))
}

function checkUnknown(
  name: string,
  { known, missing }: { known: string[]; missing: string[] },
  { call, isStrict }: ArgumentRules,
  ignored: string[],
): void {
  const meant = resembled(name, known)
  const shown = name.slice(0, maxNameLength)
  if (meant !== undefined) {
    throw invalidInput(`${call} has no argument ${shown}. Did you mean ${meant}?`, name)
  }
  if (isStrict) {
    const takes = known.length === 0 ? 'It takes none' : `It takes ${known.join(', ')}`
    throw invalidInput(`${call} has no argument ${shown}. ${takes}.`, name)
  }
  if (missing.length > 0) {
    throw invalidInput(`${call} has no argument ${shown}, and ${missing[0]} is missing.`, missing[0])
  }
  if (ignored.length < maxIgnored) ignored.push(shown)
}

/** Returns the argument that was probably meant: the same letters, a longer name, or few different letters. */
function resembled(name: string, known: string[]): string | undefined {
  const letters = folded(name.slice(0, maxNameLength))
  const isBeginning = (other: string) => letters.length >= 4 && folded(other).startsWith(letters)
  // Typos rarely affect the first letter: `text` does not mean `next`.
  const isNear = (other: string) =>
    folded(other)[0] === letters[0] &&
    leven(letters, folded(other), { maxDistance: 3 }) <= Math.min(2, Math.floor(letters.length / 3))
  return known.find((other) => folded(other) === letters) ?? known.find(isBeginning) ?? known.find(isNear)
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
