/** Reads the params of an A2A request. Errors name the field. See docs/protocol/a2a.md, "Fields of a send". */
import { GridError } from '../errors.ts'
import { canonicalBase64 } from '../lib/encoding.ts'
import { hasInvisible } from '../lib/invisible-text.ts'
import { hasAtMost, wellFormed } from '../lib/text.ts'

/** Maximum length of an id chosen by a client, in characters. */
const maxIdLength = 256
/** Maximum length of other strings that are not content, such as a file name or an extension's URI. */
const maxTextLength = 1_000

/**
 * Reads one object of the request like a ProtoJSON parser. `null` means missing, and so does `""` except in content and
 * free objects. Numbers and flags may be strings, and enum values may be numbers. Unknown fields are ignored. Field
 * names may also be in snake_case. Every method that reads a field fails with `invalid_input`.
 *
 * @see https://protobuf.dev/programming-guides/json/
 */
export class ParamReader {
  readonly #object: Record<string, unknown>
  readonly #path: string

  /** `path` is the object's position below `params`; empty for `params` itself. */
  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalidInput(path || 'params', 'must be an object')
    }
    this.#object = value as Record<string, unknown>
    this.#path = path
  }

  value(name: string): unknown {
    return this.#object[name] ?? this.#object[snakeCase(name)] ?? undefined
  }

  /** Returns the name of the only member that is set. Other members may be present as `""` or empty. */
  onlyOf<Name extends string>(names: readonly Name[]): Name {
    const present = names.filter((name) => this.value(name) !== undefined)
    const filled = present.filter((name) => !isUnset(this.value(name), name === 'data'))
    if (present.length === 0 || filled.length > 1) {
      throw this.invalid(undefined, `must have exactly one of ${names.join(', ')}`)
    }
    return filled[0] ?? present[0]
  }

  text(name: string, maxLength = maxTextLength): string | undefined {
    return this.#text(name, maxLength) || undefined
  }

  /** Reads content. Only the body's size limits its length. */
  content(name: string): string | undefined {
    return this.#text(name, Infinity)
  }

  /** Reads bytes as canonical base64. */
  bytes(name: string): string | undefined {
    const text = this.content(name)
    const bytes = text === undefined ? undefined : canonicalBase64(text)
    if (text !== undefined && bytes === undefined) throw this.invalid(name, 'must be base64')
    return bytes
  }

  /** Reads well-formed text without U+0000. */
  #text(name: string, maxLength: number): string | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw this.invalid(name, 'must be a string')
    const text = wellFormed(value)
    if (text === undefined) throw this.invalid(name, 'contains U+0000. Remove it')
    if (!hasAtMost(text, maxLength)) throw this.invalid(name, `must have at most ${maxLength} characters`)
    return text
  }

  /** Reads an id that is stored and returned unchanged. */
  id(name: string): string | undefined {
    const id = this.text(name, maxIdLength)
    if (id === undefined) return undefined
    if (id !== this.value(name)) throw this.invalid(name, 'is not well-formed Unicode')
    if (hasInvisible(id)) throw this.invalid(name, 'has invisible characters. Remove them')
    return id
  }

  requiredId(name: string): string {
    const id = this.id(name)
    if (id === undefined) throw this.invalid(name, 'must be a non-empty string')
    return id
  }

  /** Reads an enum value. `values` has its names and numbers; number 0 is the unset value. */
  oneOf<T>(name: string, values: ReadonlyMap<string, T>, rule: string): T | undefined {
    const value = this.#set(name)
    if (value === undefined) return undefined
    if (typeof value === 'object') throw this.invalid(name, rule)
    if (/^0$|_UNSPECIFIED$/.test(String(value))) return undefined
    const found = values.get(String(value))
    if (found === undefined) throw this.invalid(name, rule)
    return found
  }

  flag(name: string): boolean | undefined {
    const value = this.#set(name)
    if (value === undefined || typeof value === 'boolean') return value
    if (value === 'true' || value === 'false') return value === 'true'
    throw this.invalid(name, 'must be true or false')
  }

  /** Reads an integer in a range. The default minimum is 0. */
  count(name: string, range?: { min: number; max: number }): number | undefined {
    const given = this.#set(name)
    if (given === undefined) return undefined
    const value = typeof given === 'string' && /^-?\d+$/.test(given) ? Number(given) : given
    const { min, max } = range ?? { min: 0, max: Number.MAX_SAFE_INTEGER }
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
    throw this.invalid(name, `must be an integer ${range ? `from ${min} to ${max}` : 'of at least 0'}`)
  }

  /** Reads a time (RFC 3339 §5.6) in milliseconds since the epoch. */
  time(name: string): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const at = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : NaN
    if (Number.isNaN(at)) throw this.invalid(name, 'must be a time such as 2026-11-21T09:00:00.000Z')
    return at
  }

  /** Reads a list of strings; undefined if it is empty. */
  texts(name: string): string[] | undefined {
    const list = this.list(name)
    if (!list.every((item) => typeof item === 'string')) throw this.invalid(name, 'must be an array of strings')
    if (!list.every((item) => hasAtMost(item, maxTextLength))) {
      throw this.invalid(name, `must have strings of at most ${maxTextLength} characters`)
    }
    return list.length > 0 ? list : undefined
  }

  list(name: string): unknown[] {
    const value = this.#set(name) ?? []
    if (!Array.isArray(value)) throw this.invalid(name, 'must be an array')
    return value
  }

  /** Reads a free object. Its content is preserved as is. */
  record(name: string): Record<string, unknown> | undefined {
    const value = this.#set(name)
    return value === undefined ? undefined : new ParamReader(value, this.pathOf(name)).#object
  }

  /** Reads a nested protocol message. A message whose fields are all unset counts as missing. */
  object(name: string): ParamReader | undefined {
    const value = this.value(name)
    return isUnset(value) ? undefined : new ParamReader(value, this.pathOf(name))
  }

  requiredObject(name: string): ParamReader {
    return new ParamReader(this.value(name), this.pathOf(name))
  }

  #set(name: string): unknown {
    const value = this.value(name)
    return value === '' ? undefined : value
  }

  pathOf(name: string): string {
    return this.#path ? `${this.#path}.${name}` : name
  }

  /** Creates the error for an invalid field. Without a name, the error refers to the object itself. */
  invalid(name: string | undefined, rule: string): GridError {
    return invalidInput(name === undefined ? this.#path : this.pathOf(name), rule)
  }
}

/** Whether a value is unset, like a message whose fields are all unset. A data object always counts as content. */
function isUnset(value: unknown, isData = false): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && !isData && Object.values(value).every((member) => isUnset(member))
}

function invalidInput(field: string, rule: string): GridError {
  return new GridError('invalid_input', `${field} ${rule}.`, { field })
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
