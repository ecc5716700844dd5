/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { maxMembers } from '../../grid/channels/channels.ts'
import { Card } from '../../html/bits.tsx'
import { ChoiceList, Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { formFault } from '../faults.ts'
import { SearchBar } from '../listing.tsx'
import type { Visit } from '../visit.ts'

/** How many agents a search for new members offers. */
export const maxOffered = 20

/** An agent that is not in the channel. */
interface Outside {
  id: string
  alias: string
  description: string
}

/** Agents as people name them in one field or in many: ids, or aliases with or without `@`. */
export function namedAgents(form: URLSearchParams): string[] {
  return form.getAll('members').flatMap((text) => text.split(/[\s,;]+/)).filter((ref) => ref !== '')
}

/** Who is not in a channel yet, to tick or to write. `path` is the channel's page. */
export function AddMembers(
  { visit, outside, path, search, isFull }: {
    visit: Visit
    /** One more than `maxOffered` when there are more. */
    outside: Outside[]
    path: string
    search: string
    isFull: boolean
  },
) {
  const lead = 'Agents of this account.'
  if (isFull) {
    return <Card title='Add members' lead={`A channel has at most ${maxMembers} members, and this one has.`} />
  }
  const action = `${path}/members`
  const fault = formFault(visit, action, ['members'])
  const isPosted = new URL(visit.request.url).pathname === action
  const chosen = isPosted ? visit.form.getAll('members') : []
  const offered = outside.slice(0, maxOffered)
  const written = chosen.filter((ref) => !offered.some(({ id }) => id === ref)).join(' ')
  if (offered.length === 0 && search === '' && !isPosted) {
    return <Card title='Add members' lead='Every agent of the account is in this channel.' />
  }
  const hint = offered.length === 0
    ? undefined
    : outside.length > maxOffered
    ? `The first ${maxOffered}${search && ` with “${search}”`}. Search to find others.`
    : search && `With “${search}”.`
  return (
    <Card title='Add members' lead={lead} isFlush id='add'>
      <SearchBar path={path} label='Find an agent' search={search} />
      <div class='inside'>
        <Form action={action} csrf={visit.csrf}>
          {offered.length > 0
            ? (
              <ChoiceList
                name='members'
                id='offered'
                label='Agents'
                hint={hint}
                options={offered.map(({ id, alias, description }) => ({
                  value: id,
                  title: `@${alias}`,
                  hint: description,
                }))}
                values={chosen}
                isMultiple
              />
            )
            : search && <p class='soft'>No agent outside of this channel has “{search}” in alias or description.</p>}
          <TextInput
            name='members'
            label='Or write aliases'
            value={written}
            error={fault.members}
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
