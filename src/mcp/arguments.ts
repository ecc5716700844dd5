/**
 * The arguments of a call as models write them. What can only mean one thing is understood; what no tool has is refused
 * with the names that it has, because an argument that is ignored makes an answer wrong without a word.
 * See docs/protocol.md, "Arguments".
 */
import { GridError } from '../errors.ts'
import type { Arguments, CatalogTool } from './tool.ts'

/**
 * Prepare arguments for the schema of their tool: a number or boolean may come as a string, and null is not given. Other
 * mistakes are left to the schema. Fails with `invalid_input` for an argument that the tool does not have.
 */
export function readArguments<Caller>(entry: CatalogTool<Caller>, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const { tool, parameters, isStrict } = entry
  const named = withoutNull(given as Arguments)
  const args = tool.rename ? tool.rename(named) : named
  let read = args
  for (const [name, value] of Object.entries(args)) {
    if (!Object.hasOwn(parameters, name)) {
      if (isStrict) throw unknownArgument(tool.name, name, Object.keys(parameters))
      continue
    }
    if (typeof value !== 'string') continue
    const meant = fromText(value, parameters[name].type)
    // Arguments are copied only if one changes: most calls have nothing to change.
    if (meant !== value) read = { ...read, [name]: meant }
  }
  return read
}

/** Some clients send null for each argument that a call leaves out. */
function withoutNull(args: Arguments): Arguments {
  if (!Object.values(args).includes(null)) return args
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))
}

/**
 * Give an argument the name that the tool has for it. Fails with `invalid_input` if the call has another value under
 * that name.
 */
export function renamed(args: Arguments, from: string, to: string): Arguments {
  const { [from]: given, ...others } = args
  if (given === undefined) return others
  if (others[to] !== undefined && others[to] !== given) {
    throw new GridError('invalid_input', `${from} and ${to} differ. Give ${to} alone.`, { field: from })
  }
  return { ...others, [to]: given }
}

/** What a text means as a value of this type of JSON Schema; the text itself if that is not certain. */
export function fromText(text: string, type: unknown): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function unknownArgument(tool: string, field: string, names: string[]): GridError {
  const known = names.length === 0 ? 'It takes none' : `It takes ${names.join(', ')}`
  return new GridError('invalid_input', `${tool} has no argument ${field.slice(0, 64)}. ${known}.`, { field })
}
