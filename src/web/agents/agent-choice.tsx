/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** A field to choose agents: checkboxes if there are few, otherwise a text field for aliases. */
import { ChoiceList, TextArea } from '../../html/fields.tsx'
import type { AccountStore } from '../../store/account.ts'

const maxCheckboxes = 50

/** Returns the account's first agents, at most one more than `maxCheckboxes`. */
export async function choosableAgents({ read }: AccountStore) {
  return await read.agents.page('', maxCheckboxes + 1)
}

export function AgentChoice({ agents, hint, value, ...field }: {
  name: string
  label: string
  isOptional?: boolean
  /** The hints for the checkboxes and for the text field. */
  hint: [string, string]
  agents: Awaited<ReturnType<typeof choosableAgents>>
  /** The text that the user has already typed. */
  value: string
}) {
  return agents.length > 0 && agents.length <= maxCheckboxes
    ? (
      <ChoiceList
        {...field}
        hint={hint[0]}
        options={agents.map(({ id, alias, description }) => ({ value: id, title: `@${alias}`, hint: description }))}
        isMultiple
      />
    )
    : <TextArea {...field} hint={hint[1]} value={value} placeholder='@alice @bob' rows={3} isMono />
}

/** Returns the agents named in the fields: ids, or aliases with or without `@`. A field may name several agents. */
export function parseAgentRefs(form: URLSearchParams, name: string): string[] {
  return form.getAll(name).flatMap((text) => text.split(/[\s,;]+/)).filter((ref) => ref !== '')
}
