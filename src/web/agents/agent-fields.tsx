/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Form fields shared by the pages for new and existing agents. */
import { GridError } from '../../errors.ts'
import { externalShare, maxAccessList, maxDescriptionLength } from '../../grid/agents/agents.ts'
import { Checkbox, ChoiceList, PasswordInput, TextArea, TextInput } from '../../html/fields.tsx'
import type { AccessPolicy, AgentType, CallersWait, ProgramType, Visibility } from '../../store/account/agents.ts'
import { readChoice } from '../forms.tsx'

export interface AgentFieldsProps {
  stored?: Partial<Record<string, string>>
}

/** The agent types that can be created, with their labels. */
export const agentTypes: { value: ProgramType; title: string; hint: string }[] = [
  { value: 'mcp', title: 'MCP', hint: 'An MCP client such as Claude Code reads its messages here.' },
  { value: 'a2a', title: 'A2A', hint: 'A remote agent with its own A2A endpoint.' },
]

/** Returns `MCP`, `A2A`, `Person` or `Hook`. */
export function typeName(type: AgentType): string {
  return agentTypes.find(({ value }) => value === type)?.title ?? (type === 'hook' ? 'Hook' : 'Person')
}

const visibilities: { value: Visibility; title: string; hint: string }[] = [
  {
    value: 'private',
    title: 'Private',
    hint: 'Only agents of this account can find it. Others can send to it only if it wrote to them.',
  },
  { value: 'public', title: 'Public', hint: 'Agents of other accounts can too, if its access policy allows it.' },
]

const policies: { value: AccessPolicy; title: string; hint: string }[] = [
  { value: 'auto_approve', title: 'All agents', hint: 'Any agent of another account can send to it.' },
  { value: 'allow_list', title: 'Only listed agents', hint: 'All others get the answer that there is no such agent.' },
  {
    value: 'block_list',
    title: 'All except listed agents',
    hint: 'Listed agents get the answer that there is no such agent.',
  },
]

export function policyName(policy: AccessPolicy): string {
  return policies.find(({ value }) => value === policy)!.title
}

export function DescriptionField({ stored }: AgentFieldsProps) {
  return (
    <TextArea
      name='description'
      label='Description'
      hint='What it does. Other agents read this to decide whom to ask.'
      isOptional
      rows={3}
      maxLength={maxDescriptionLength}
      value={stored?.description}
    />
  )
}

export function AccessFields({ stored }: AgentFieldsProps) {
  return (
    <>
      <div class='grid halves'>
        <ChoiceList
          name='visibility'
          label='Visibility'
          options={visibilities}
          values={[stored?.visibility || 'private']}
        />
        <ChoiceList
          name='accessPolicy'
          label='Access from other accounts, when public'
          options={policies}
          values={[stored?.accessPolicy || 'auto_approve']}
        />
      </div>
      {stored?.visibility !== 'public' && (
        <div class='when-public'>
          <Checkbox
            name='publicSure'
            label='Yes, make it public'
            hint='Agents of every account on this grid can then find it by its alias and skills, read its description and card, and write to it, as far as its access policy lets them. Guardrails check their messages too.'
          />
        </div>
      )}
      <div class='when-listed'>
        <TextArea
          name='accessList'
          label='Access list'
          hint={`Aliases of other accounts, separated by spaces, commas or lines. At most ${maxAccessList}. For an alias that nobody has yet you are asked when an agent takes it.`}
          isOptional
          isMono
          rows={2}
          value={stored?.accessList}
        />
      </div>
    </>
  )
}

const replies = [
  { value: 'no', title: 'As a task', hint: 'A reply is the result of the task that the client began.' },
  { value: 'yes', title: 'As a message', hint: 'A client that waits gets the first plain reply as a message.' },
]

export function replyName(messageReplies: string): string {
  return replies.find(({ value }) => value === messageReplies)!.title
}

/** Selects whether plain replies over A2A are sent as messages. See docs/protocol/a2a.md, "Message replies". */
export function ReplyField({ stored }: AgentFieldsProps) {
  return (
    <ChoiceList
      name='messageReplies'
      label='Replies over A2A'
      options={replies}
      values={[stored?.messageReplies || 'no']}
    />
  )
}

const waits: { value: CallersWait; title: string; hint: string }[] = [
  { value: 'auto', title: 'While it is connected', hint: 'Also while a runner works on its messages.' },
  { value: 'yes', title: 'Always', hint: 'For clients that do not poll, such as ADK and the Agent Framework.' },
  { value: 'no', title: 'Never', hint: 'A client gets the task at once, and polls it or subscribes to it.' },
]

export function waitName(callersWait: CallersWait): string {
  return waits.find(({ value }) => value === callersWait)!.title
}

/** Selects whether A2A calls wait for the answer. See docs/protocol/a2a.md, "Confirmation or task". */
export function WaitField({ stored }: AgentFieldsProps) {
  return (
    <ChoiceList
      name='callersWait'
      label='Calls over A2A wait for its answer'
      options={waits}
      values={[stored?.callersWait || 'auto']}
    />
  )
}

/** Fields for a remote agent's URL and token. `hasToken` means that a token is already stored. */
export function RemoteFields({ stored, hasToken }: AgentFieldsProps & { hasToken?: boolean }) {
  return (
    <>
      <TextInput
        name='remoteUrl'
        label='Remote URL'
        hint='Its A2A endpoint: an https URL.'
        type='url'
        isMono
        maxLength={2_000}
        placeholder='https://'
        value={stored?.remoteUrl}
      />
      <PasswordInput
        name='remoteToken'
        label='Remote token'
        hint={(hasToken
          ? 'A token is stored, encrypted. Enter another to replace it. It is never shown. '
          : 'The bearer token for its endpoint. Stored encrypted and never shown. ') +
          `If the agent is public, agents of other accounts spend it too. ${externalShare}`}
        isOptional
        autocomplete='new-password'
      />
    </>
  )
}

export function SkillsField({ stored }: AgentFieldsProps) {
  return (
    <TextArea
      name='skills'
      label='Skill names'
      hint='One per line. New names become skills of the account.'
      isOptional
      rows={3}
      value={stored?.skills}
    />
  )
}

/** Returns the chosen visibility. Fails with `invalid_input` if making the agent public was not confirmed. */
export function visibilityIn(form: URLSearchParams, isPublic: boolean): Visibility | undefined {
  const visibility = readChoice(form, 'visibility', ['private', 'public'])
  if (visibility === 'public' && !isPublic && !form.has('publicSure')) {
    const message = 'Read what agents of other accounts can do then, and confirm it.'
    throw new GridError('invalid_input', message, { field: 'visibility' })
  }
  return visibility
}

/** Splits text into words at spaces, commas and line breaks. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '')
}

/** Returns a form field's text, with the CRLF that browsers send converted to LF. */
export function textOf(form: URLSearchParams, name: string): string {
  return (form.get(name) ?? '').replaceAll('\r\n', '\n').trim()
}
