/**
 * Compares two versions of the interface that programs use. Finds changes that break programs written for the first
 * version.
 */

/** A JSON schema, limited to what zod generates. */
export interface Schema {
  [keyword: string]: unknown
  $ref?: string
  anyOf?: Schema[]
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
}

/** The interface that programs use, with each part by name. */
export interface Interface {
  /** Inputs of the grid: bodies and parameters, tool arguments, command options. */
  inputs: Record<string, Schema>
  answers: Record<string, Schema>
  /** Lists of names. No name may be removed. */
  lists: Record<string, string[]>
  /** The schemas that `$ref` refers to. */
  schemas: Record<string, Schema>
}

/** `input`: everything accepted before must still be accepted. `answer`: only content that programs expect. */
type Direction = 'input' | 'answer'
type Schemas = Interface['schemas']

const minima = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems']
const maxima = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems']
const known = new Set([
  ...['$ref', 'anyOf', 'oneOf', 'type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items'],
  ...['format', 'pattern', 'propertyNames', 'default', ...minima, ...maxima],
])

/** Describes the changes in `after` that break programs written for `before`, as sentences with locations. */
export function breakingChanges(before: Interface, after: Interface): string[] {
  const compared = (direction: Direction, from: Record<string, Schema>, to: Record<string, Schema>) =>
    Object.entries(from).flatMap(([name, schema]) =>
      to[name] === undefined
        ? [`${name}: is gone`]
        : schemaChanges(schema, to[name], direction, `${name}:`, before.schemas, after.schemas)
    )
  return [
    ...compared('input', before.inputs, after.inputs),
    ...compared('answer', before.answers, after.answers),
    ...Object.entries(before.lists).flatMap(([list, names]) =>
      names.filter((name) => !after.lists[list]?.includes(name)).map((name) => `${list}: ${name} is gone`)
    ),
  ]
}

/** Returns a schema's breaking changes. Throws for a keyword that it does not know. */
export function schemaChanges(
  before: Schema,
  after: Schema,
  direction: Direction,
  where = '',
  ofBefore: Schemas = {},
  ofAfter: Schemas = {},
): string[] {
  const olds = variants(before, ofBefore)
  const news = variants(after, ofAfter)
  // The grid must accept every variant that a program may send. A program must know every variant that it may receive.
  const [given, taken] = direction === 'input' ? [olds, news] : [news, olds]
  return given.flatMap((one) => {
    const tries = taken.map((other) => {
      const [old, now] = direction === 'input' ? [one, other] : [other, one]
      return ofOneVariant(old, now, direction, where, ofBefore, ofAfter)
    })
    return tries.reduce((least, faults) => faults.length < least.length ? faults : least)
  })
}

/** Returns the alternatives of a schema, without `anyOf`, references and multiple types. */
function variants(schema: Schema, schemas: Schemas): Schema[] {
  const unknown = Object.keys(schema).find((keyword) => !known.has(keyword))
  if (unknown !== undefined) throw new Error(`The comparison does not know the keyword ${unknown} of JSON Schema.`)
  if (schema.$ref !== undefined) return variants(schemas[schema.$ref.split('/').at(-1)!], schemas)
  const several = schema.anyOf ?? schema.oneOf as Schema[] | undefined
  if (several) return several.flatMap((one) => variants(one, schemas))
  return Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : [schema]
}

function ofOneVariant(
  old: Schema,
  now: Schema,
  direction: Direction,
  where: string,
  ofBefore: Schemas,
  ofAfter: Schemas,
): string[] {
  const isInput = direction === 'input'
  const [given, taken] = isInput ? [old, now] : [now, old]
  const say = (fault: string) => `${where} ${fault}`.trim()
  const [types, values] = [taken.type, valuesOf(taken)]
  if (types !== undefined && types !== given.type && !(types === 'number' && given.type === 'integer')) {
    return [say(`${old.type ?? 'anything'} is ${now.type ?? 'anything'} now`)]
  }
  const faults: string[] = []
  // A list of values in an answer may get further values. It may not become arbitrary text.
  if (values && !(!isInput && valuesOf(given))) {
    const lost = valuesOf(given)?.filter((value) => !values.includes(value)) ?? ['any other value']
    faults.push(...lost.map((value) => say(`${isInput ? 'no longer takes' : 'may be'} ${value}`)))
  }
  const isNarrower = (limit: string) => {
    if (taken[limit] === undefined) return false
    if (given[limit] === undefined) return true
    const [from, to] = [Number(given[limit]), Number(taken[limit])]
    return minima.includes(limit) ? to > from : maxima.includes(limit) ? to < from : given[limit] !== taken[limit]
  }
  for (const limit of [...minima, ...maxima, 'pattern', 'format']) {
    if (isNarrower(limit)) faults.push(say(`${limit} was ${old[limit] ?? 'none'} and is ${now[limit] ?? 'none'}`))
  }
  if (old.default !== undefined && old.default !== now.default) {
    faults.push(say(`the default was ${old.default} and is ${now.default}`))
  }
  const [inOld, inNow] = [old.properties ?? {}, now.properties ?? {}]
  const gone = Object.keys(inOld).filter((name) => inNow[name] === undefined)
  faults.push(...gone.map((name) => say(`${name} is gone`)))
  for (const name of taken.required ?? []) {
    if (given.required?.includes(name) || gone.includes(name)) continue
    faults.push(say(`${name} ${isInput ? 'is required' : 'may be missing'}`))
  }
  const deeper = (old: Schema, now: Schema, name: string) =>
    schemaChanges(old, now, direction, `${where}${/^$|:$/.test(where) ? ' ' : '.'}${name}`.trim(), ofBefore, ofAfter)
  for (const name of Object.keys(inOld)) {
    if (inNow[name]) faults.push(...deeper(inOld[name], inNow[name], name))
  }
  if (taken.additionalProperties === false && given.additionalProperties !== false) {
    faults.push(say(isInput ? 'takes no other fields' : 'may have other fields'))
  } else if (typeof old.additionalProperties === 'object' || typeof now.additionalProperties === 'object') {
    faults.push(...deeper(open(old.additionalProperties), open(now.additionalProperties), '*'))
  }
  if (taken.items) faults.push(...deeper(old.items ?? {}, now.items ?? {}, '[]'))
  return faults
}

function open(additional: Schema['additionalProperties']): Schema {
  return typeof additional === 'object' ? additional : {}
}

function valuesOf(schema: Schema): unknown[] | undefined {
  return schema.enum ?? ('const' in schema ? [schema.const] : undefined)
}

/** Derives a schema from values. Fields that all values have are required. */
export function schemaOf(values: readonly unknown[]): Schema {
  const types = [...new Set(values.map(typeOf))].sort()
  const objects = values.filter((value) => typeOf(value) === 'object') as Record<string, unknown>[]
  const names = [...new Set(objects.flatMap(Object.keys))].sort()
  const items = values.filter(Array.isArray).flat()
  return {
    type: types.length === 1 ? types[0] : types,
    ...(names.length > 0 && {
      properties: Object.fromEntries(names.map((name) => {
        return [name, schemaOf(objects.filter((object) => name in object).map((object) => object[name]))]
      })),
      required: names.filter((name) => objects.every((object) => name in object)),
    }),
    ...(items.length > 0 && { items: schemaOf(items) }),
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value
}
