/** Validates input. Errors name the field and the requirement. */
import * as z from 'zod'
import { type ErrorCode, GridError } from '../errors.ts'
import { hasAtMost, wellFormed } from './text.ts'

/** Validates input. Fails with `code` (default `invalid_input`). The message names the field and its requirement. */
export function parse<T>(schema: z.ZodType<T>, input: unknown, code: ErrorCode = 'invalid_input'): T {
  const result = check(schema, input)
  if (result.success) return result.data
  // Values are reported only after validation failed, because reporting makes validation several times as slow.
  const { field, problem } = describe(check(schema, input, { reportInput: true }).error!.issues[0])
  throw new GridError(code, `${field || 'The input'} ${problem}.`, { field })
}

const impossible = z.custom<never>(() => false, 'has a length that is not a number')

/** Calls `safeParse`. If zod throws because it cannot compare an object's `length` with a limit, this fails instead. */
export function check<T>(schema: z.ZodType<T>, input: unknown, params?: z.core.ParseContext<z.core.$ZodIssue>) {
  try {
    return schema.safeParse(input, params)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return impossible.safeParse(input, params)
  }
}

type Issue = z.core.$ZodIssue
type WrongType = z.core.$ZodIssueInvalidType

/** Describes which field is invalid, and why. The description does not contain values. */
function describe(issue: Issue, parents: PropertyKey[] = []): { field: string; problem: string } {
  const path = [...parents, ...issue.path]
  const at = (problem: string, ...below: string[]) => ({ field: [...path, ...below].join('.'), problem })
  if (issue.input === undefined) return at('is missing')
  switch (issue.code) {
    case 'invalid_type':
      return at(`must be ${typeName(issue)}`)
    case 'invalid_value':
      return at(`must be one of ${issue.values.join(', ')}`)
    case 'unrecognized_keys':
      return at('is not a known field', issue.keys[0])
    case 'too_small':
      return at(
        issue.origin in units && issue.minimum === 1 ? 'must not be empty' : size(issue, 'least', issue.minimum),
      )
    case 'too_big':
      return at(size(issue, 'most', issue.maximum))
    case 'invalid_union': {
      // The intended alternative is the alternative with the matching type.
      const intended = issue.errors.find(([first]) => !isWrongType(first))
      if (intended) return describe(intended[0], path)
      return at(`must be ${issue.errors.flat().filter(isWrongType).map(typeName).join(' or ')}`)
    }
    default:
      return at(issue.message)
  }
}

function isWrongType(issue: Issue): issue is WrongType {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

const typeNames: Partial<Record<WrongType['expected'], string>> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
}

function typeName({ expected }: WrongType): string {
  return typeNames[expected] ?? `a ${expected}`
}

const units: Record<string, string> = { string: 'characters', array: 'entries' }

function size({ origin }: { origin: string }, end: 'least' | 'most', n: number | bigint): string {
  return origin in units ? `must have at ${end} ${n} ${units[origin]}` : `must be at ${end} ${n}`
}

/**
 * Limits a text to `max` characters, counted as in JSON Schema (RFC 8259 §7 and §8.2: Unicode characters). zod's `max`
 * counts UTF-16 code units instead. Apply this last, because zod's methods drop the published `maxLength`.
 */
export function atMost(schema: z.ZodString, max: number): z.ZodString {
  return schema.refine((text) => hasAtMost(text, max), `must have at most ${max} characters`).meta({ maxLength: max })
}

/** The name of a program, as shown to other agents, for example `claude`. It cannot contain a sentence. */
export const clientName = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/,
  'must be a name of 1 to 32 characters: letters, digits, ".", "_" and "-"',
)

export const maxIdentifierLength = 200
/** Maximum length of a file name, in UTF-8 bytes. */
export const maxNameBytes = 255
const plainText = (schema: z.ZodString) =>
  schema.refine((text) => wellFormed(text) === text, 'must be plain Unicode text')

/** A name or an id. It must be well-formed Unicode, because it is looked up unchanged. */
export const identifier = atMost(plainText(z.string()), maxIdentifierLength)
/** A non-empty name or id. */
export const requiredIdentifier = atMost(plainText(z.string().min(1)), maxIdentifierLength)

/** A file name. */
export const filename = z.string()
  .refine((name) => wellFormed(name) === name, 'must be plain Unicode text')
  .refine((name) => new TextEncoder().encode(name).length <= maxNameBytes, `must have at most ${maxNameBytes} bytes`)
  .meta({ maxLength: maxNameBytes })
export const mediaType = atMost(
  z.string().regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.+-]+)*$/, 'must be a media type'),
  100,
)

/** A message's parts. The schema omits their members, because schemas are part of each model's context. */
export const partsInput = z.array(z.record(z.string(), z.unknown())).max(20)
  .describe('{text | raw (base64) | url (https) | data | upload_id, mediaType?, filename?}')

/** Answers offered to a person. The grid explains which of them is invalid. */
export const choicesInput = z.array(z.string().max(120)).describe('Up to 6 choices for a person')

/**
 * A signup's input, over REST and MCP. Unknown fields are ignored. See docs/protocol/signup.md, "Signup", and
 * docs/protocol/README.md, "Limits".
 */
export const signupInput = z.object({
  // The lengths are only described here, because an email address or alias that is too long has its own error.
  owner_email: z.string().meta({ maxLength: 254 }).describe('Email address of the human owner'),
  alias: z.string().meta({ maxLength: 32 }).describe('Desired alias: 3 to 32 characters of a-z, 0-9 and -'),
  // `signUp` checks the length after removing invisible characters.
  description: z.string().meta({ maxLength: 500 }).optional().describe('What the agent does'),
  skills: z.array(atMost(z.string().min(1), 64)).max(20).optional().describe('Names of skills'),
})
