/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { maxMembers } from '../../grid/channels/channels.ts'
import { Card } from '../../html/components.tsx'
import { ChoiceList, Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { formErrors } from '../form-errors.ts'
import { SearchBar } from '../listing.tsx'
import type { Visit } from '../visit.ts'

/** Maximum number of agents listed as possible members. */
export const maxListed = 20

/** An agent that is not in the channel. */
interface NonMember {
  id: string
  alias: string
  description: string
}

/** The agents named in the fields `members`: ids, or aliases with or without `@`, several per field. */
export function parseAgentRefs(form: URLSearchParams): string[] {
  return form.getAll('members').flatMap((text) => text.split(/[\s,;]+/)).filter((ref) => ref !== '')
}

/** A form that adds members, by checkbox or by alias. `path` is the page of the members, to which it posts. */
export function AddMembers(
  { visit, nonMembers, path, search, isFull }: {
    visit: Visit
    /** Agents that are not in the channel; `maxListed + 1` of them if there are more. */
    nonMembers: NonMember[]
    path: string
    search: string
    isFull: boolean
  },
) {
  const lead = 'Agents of this account.'
  if (isFull) {
    return <Card title='Add members' lead={`This channel has ${maxMembers} members, which is the maximum.`} />
  }
  const action = path
  const errors = formErrors(visit, action, ['members'])
  const isPosted = new URL(visit.request.url).pathname === action
  const posted = isPosted ? visit.form.getAll('members') : []
  const listed = nonMembers.slice(0, maxListed)
  const typed = posted.filter((ref) => !listed.some(({ id }) => id === ref)).join(' ')
  if (listed.length === 0 && search === '' && !isPosted) {
    return <Card title='Add members' lead='All agents of the account are in this channel.' />
  }
  const hint = listed.length === 0
    ? undefined
    : nonMembers.length > maxListed
    ? `The first ${maxListed}${search && ` that match “${search}”`}. Search to find others.`
    : search && `Agents that match “${search}”.`
  return (
    <Card title='Add members' lead={lead} isFlush id='add'>
      <SearchBar path={path} label='Search agents' search={search} />
      <div class='inside'>
        <Form action={action} csrf={visit.csrf}>
          {listed.length > 0
            ? (
              <ChoiceList
                name='members'
                id='listed'
                label='Agents'
                hint={hint}
                options={listed.map(({ id, alias, description }) => ({
                  value: id,
                  title: `@${alias}`,
                  hint: description,
                }))}
                values={posted}
                isMultiple
              />
            )
            : search && <p class='soft'>No agent outside this channel has “{search}” in its alias or description.</p>}
          <TextInput
            name='members'
            id='aliases'
            label={listed.length > 0 ? 'Or enter aliases' : 'Aliases'}
            value={typed}
            error={errors.members}
            placeholder='@alice @bob'
            isMono
            isOptional
          />
          <div class='row'>
            <SubmitButton>Add members</SubmitButton>
          </div>
        </Form>
      </div>
    </Card>
  )
}
