/** Reading the params of an A2A request, member by member: a fault names the member. a2a.md, section 4, "Shape". */
import { GridError } from '../errors.ts'
import { characters, wellFormed } from '../lib/text.ts'

/** Longest id a client may choose, in characters. */
const maxIdLength = 256

/**
 * One object of the request. `null` and absent are the same (ProtoJSON), members
 * we do not know are ignored, and a name is also found in snake_case.
 * Every reader fails with `invalid_input`.
 */
export class Members {
  readonly #object: Record<string, unknown>
  readonly #path: string

  /** `path` is where the object stands below `params`, which itself has the empty path. */
  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw fault(path || 'params', 'must be an object')
    }
    this.#object = value as Record<string, unknown>
    this.#path = path
  }

  /** The member as it came; undefined when it is absent or null. */
  value(name: string): unknown {
    return this.#object[name] ?? this.#object[snakeCase(name)] ?? undefined
  }

  has(name: string): boolean {
    return this.value(name) !== undefined
  }

  /** Well-formed text without U+0000. */
  text(name: string): string | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw this.fault(name, 'must be a string')
    const text = wellFormed(value)
    if (text === undefined) throw this.fault(name, 'contains U+0000. Remove it')
    return text
  }

  /** An id that is kept and answered as it came; the empty one is ProtoJSON's absent one. */
  id(name: string): string | undefined {
    const id = this.text(name)
    if (id === undefined || id === '') return undefined
    if (id !== this.value(name)) throw this.fault(name, 'is not well-formed Unicode')
    if (characters(id) > maxIdLength) throw this.fault(name, `must have at most ${maxIdLength} characters`)
    return id
  }

  requiredId(name: string): string {
    const id = this.id(name)
    if (id === undefined) throw this.fault(name, 'must be a non-empty string')
    return id
  }

  flag(name: string): boolean | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.fault(name, 'must be true or false')
  }

  /** A whole number from 0 up. */
  count(name: string): number | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      throw this.fault(name, 'must be an integer of at least 0')
    }
    return value as number
  }

  /** A list of strings; undefined when it is empty. */
  texts(name: string): string[] | undefined {
    const list = this.list(name)
    if (!list.every((item) => typeof item === 'string')) throw this.fault(name, 'must be an array of strings')
    return list.length > 0 ? list : undefined
  }

  list(name: string): unknown[] {
    const value = this.value(name) ?? []
    if (!Array.isArray(value)) throw this.fault(name, 'must be an array')
    return value
  }

  /** An object without a shape of ours. */
  record(name: string): Record<string, unknown> | undefined {
    const object = this.object(name)
    return object && object.#object
  }

  object(name: string): Members | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : new Members(value, this.pathOf(name))
  }

  requiredObject(name: string): Members {
    return new Members(this.value(name), this.pathOf(name))
  }

  pathOf(name: string): string {
    return this.#path ? `${this.#path}.${name}` : name
  }

  /** What is wrong with a member, or with the object itself when no name is given. */
  fault(name: string | undefined, rule: string): GridError {
    return fault(name === undefined ? this.#path : this.pathOf(name), rule)
  }
}

function fault(field: string, rule: string): GridError {
  return new GridError('invalid_input', `${field} ${rule}.`, { field })
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
