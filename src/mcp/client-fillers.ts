import type { Arguments, ArgumentSchema } from '../lib/given-arguments.ts'

/**
 * Arguments that known clients add to the calls of their models. The grid drops them, because they have no meaning here
 * and the models did not write them. `test/wild/` has an example from each client.
 */
const clientFillers: ReadonlySet<string> = new Set([
  // n8n before 2.41.1, according to bug reports.
  'sessionId',
  'action',
  'chatInput',
  'toolCallId',
  'tool',
  // Cline before 3.0.65: the state of its task list.
  'task_progress',
  // Cursor, for tools without arguments.
  'random_string',
])

/** Returns a call's arguments without fillers that its tool does not define. */
export function withoutFillers(args: Arguments, { properties = {} }: ArgumentSchema): Arguments {
  return Object.fromEntries(
    Object.entries(args).filter(([name]) => !clientFillers.has(name) || Object.hasOwn(properties, name)),
  )
}
