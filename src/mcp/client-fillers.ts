import type { Arguments, ArgumentSchema } from '../lib/given-arguments.ts'

/**
 * Arguments that known clients add to the calls of their models by themselves. They mean nothing to the grid, and
 * models do not expect them to, so they are dropped. `test/wild/` shows each with its client.
 */
const clientFillers: ReadonlySet<string> = new Set([
  // n8n, by reports of versions before 2.41.1.
  'sessionId',
  'action',
  'chatInput',
  'toolCallId',
  'tool',
  // Cline before 3.0.65, the state of its task list.
  'task_progress',
  // Cursor, for tools without arguments.
  'random_string',
])

/** The arguments of a call without the fillers that its tool does not have. */
export function withoutFillers(args: Arguments, { properties = {} }: ArgumentSchema): Arguments {
  return Object.fromEntries(
    Object.entries(args).filter(([name]) => !clientFillers.has(name) || Object.hasOwn(properties, name)),
  )
}
