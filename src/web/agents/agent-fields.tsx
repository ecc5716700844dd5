/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The fields of an agent, as a new one and one that is there share them. */
import { maxAccessList, maxDescriptionLength } from '../../grid/agents/agents.ts'
import { ChoiceList, type FieldProps, PasswordInput, TextArea, TextInput } from '../../html/form.tsx'
import type { AccessPolicy, AgentType, Visibility } from '../../store/account/agents.ts'

/** What stands in the fields, and what is wrong with one of them. */
export interface AgentFieldsProps {
  value(name: string): string
  error(name: string): string | undefined
}

export const types: { value: AgentType; title: string; hint: string }[] = [
  { value: 'mcp', title: 'MCP', hint: 'A client such as Claude Code reads its mail here.' },
  { value: 'a2a', title: 'A2A', hint: 'A remote agent with an address of its own.' },
  { value: 'human', title: 'Human', hint: 'A person; their messages say so.' },
]

/** `MCP`, `A2A` or `Human`. */
export function typeName(type: AgentType): string {
  return types.find(({ value }) => value === type)!.title
}

const visibilities: { value: Visibility; title: string; hint: string }[] = [
  { value: 'private', title: 'Private', hint: 'This account alone can find it and write to it.' },
  { value: 'public', title: 'Public', hint: 'Agents of other accounts can too, as the policy says.' },
]

const policies: { value: AccessPolicy; title: string; hint: string }[] = [
  { value: 'auto_approve', title: 'Everybody', hint: 'Every agent of another account may write to it.' },
  { value: 'allow_list', title: 'Only those listed', hint: 'All others are told that it does not exist.' },
  { value: 'block_list', title: 'Everybody but those listed', hint: 'Those listed are told that it does not exist.' },
]

/** Who of other accounts may write to it, in words. */
export function policyName(policy: AccessPolicy): string {
  return policies.find(({ value }) => value === policy)!.title
}

export function DescriptionField({ value, error }: AgentFieldsProps) {
  return (
    <TextArea
      name='description'
      label='Description'
      hint='What it does. Other agents read this to choose whom to ask.'
      isOptional
      rows={3}
      maxLength={maxDescriptionLength}
      value={value('description')}
      error={error('description')}
    />
  )
}

/** Who may find it and write to it. */
export function AccessFields({ value, error }: AgentFieldsProps) {
  return (
    <>
      <div class='grid halves'>
        <ChoiceList
          name='visibility'
          label='Visibility'
          options={visibilities}
          values={[value('visibility') || 'private']}
          error={error('visibility')}
        />
        <ChoiceList
          name='accessPolicy'
          label='Who of other accounts may write to it, once it is public'
          options={policies}
          values={[value('accessPolicy') || 'auto_approve']}
          error={error('accessPolicy')}
        />
      </div>
      <div class='when-listed'>
        <TextArea
          name='accessList'
          label='Access list'
          hint={`Aliases of other accounts, by spaces or lines, at most ${maxAccessList}. They need not exist yet.`}
          isOptional
          isMono
          rows={2}
          value={value('accessList')}
          error={error('accessList')}
        />
      </div>
    </>
  )
}

/** Where a remote agent is, and what it wants to be shown. `kept` when a token is kept already. */
export function RemoteFields({ value, error, kept }: AgentFieldsProps & { kept?: boolean }) {
  const token: FieldProps = {
    name: 'remoteToken',
    label: 'Remote token',
    hint: kept
      ? 'One is kept, sealed. Write another to replace it; it is never shown.'
      : 'The bearer token that it wants. Kept sealed and never shown.',
    isOptional: true,
    error: error('remoteToken'),
  }
  return (
    <>
      <TextInput
        name='remoteUrl'
        label='Remote URL'
        hint='Where its A2A endpoint is: an http or https address.'
        type='url'
        isMono
        maxLength={2_000}
        placeholder='https://'
        value={value('remoteUrl')}
        error={error('remoteUrl')}
      />
      <PasswordInput {...token} autocomplete='new-password' />
    </>
  )
}

export function SkillsField({ value, error }: AgentFieldsProps) {
  return (
    <TextArea
      name='skills'
      label='Names of skills'
      hint='One per line. Names that are new become skills of the account.'
      isOptional
      rows={3}
      value={value('skills')}
      error={error('skills')}
    />
  )
}

/** What people separate by spaces, commas or lines. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

/** One thing per line. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '')
}

/** A text of several lines as it is stored: browsers send each end of a line as two characters. */
export function textOf(form: URLSearchParams, name: string): string {
  return (form.get(name) ?? '').replaceAll('\r\n', '\n').trim()
}
