/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { AgentIcon } from '../html/agent-icon.tsx'
import { Badge, Notice } from '../html/bits.tsx'
import { buttonClass, Form, Select, SubmitButton, TextInput } from '../html/form.tsx'
import { Icon } from '../html/icons.tsx'
import { barePage } from '../html/layout.tsx'
import type { AdminEntry, AgentEntry, Picker } from './picker.ts'
import { isLoopbackRedirect, redirectHost } from './redirect-uri.ts'

export interface ConsentView {
  /** `domain` is the host of its document; undefined when it registered itself. */
  client: { name: string; domain: string | undefined }
  redirectUri: string
  /** Mail address of who is signed in. */
  person: string
  csrf: string
  handle: string
  picker: Picker
  /** The entry that is chosen beforehand. */
  chosen: string | undefined
  /** What a search sends again. */
  fields: [string, string][]
}

/** The account picker. The host comes first: it is the one thing that a client cannot make up. Security O9. */
export function consentPage(view: ConsentView): Promise<Response> {
  const { client, redirectUri, person, picker, csrf } = view
  const isEmpty = picker.admins.length + picker.agents.length === 0
  return barePage(
    { title: 'Allow access', formTarget: redirectUri },
    <>
      <h1>
        Allow access for <strong>{redirectHost(redirectUri)}</strong>
      </h1>
      <p>
        A program that calls itself <strong>{client.name}</strong>{' '}
        <span class='soft'>({client.domain ?? 'registered itself, unverified'})</span> wants to use this grid.
      </p>
      {isLoopbackRedirect(redirectUri) && (
        <Notice kind='warning'>It runs on this computer. Go on only if you have just started it yourself.</Notice>
      )}
      {(picker.hasMore || picker.search !== '') && <Search view={view} />}
      <Form action='/oauth/authorize' csrf={csrf}>
        <Handle view={view} />
        {isEmpty ? <Nothing picker={picker} /> : <Entries view={view} />}
        <div class={isEmpty ? 'row' : 'row stays'}>
          {!isEmpty && <SubmitButton name='decision' value='allow' waits>Allow</SubmitButton>}
          <button type='submit' class={buttonClass('plain')} name='decision' value='deny' formnovalidate>Deny</button>
        </div>
      </Form>
      {picker.makeIn.length > 0 && <NewAgent view={view} />}
      <p class='soft small'>
        You are signed in as {person}. What you allow is listed, and ended, under Settings, Sessions.
      </p>
    </>,
  )
}

type View = { view: ConsentView }

/** The one-time handle of this page. */
function Handle({ view: { handle } }: View) {
  return <input type='hidden' name='handle' value={handle} />
}

function Entries({ view }: View) {
  const { picker } = view
  return (
    <fieldset class='choices cards'>
      <legend>Let it act as</legend>
      {picker.admins.map((entry) => <Admin entry={entry} isChosen={isChosen(view, entry.pick)} />)}
      {picker.agents.map((entry) => <Agent entry={entry} isChosen={isChosen(view, entry.pick)} />)}
      {picker.hasMore && <p class='hint'>There are more agents. Search for the one you mean.</p>}
    </fieldset>
  )
}

function Admin({ entry, isChosen }: { entry: AdminEntry; isChosen: boolean }) {
  return (
    <label class='choice'>
      <input type='radio' name='pick' value={entry.pick} required checked={isChosen} />
      <span class='title'>
        @admin ({entry.accountName}) <Badge kind='warning'>Admin</Badge>
      </span>
      <span class='hint'>
        Creates, changes and deletes every agent, channel, skill and guardrail of this account
        {entry.ownerEmail && `, owned by ${entry.ownerEmail}`}
      </span>
    </label>
  )
}

function Agent({ entry, isChosen }: { entry: AgentEntry; isChosen: boolean }) {
  return (
    <label class='choice'>
      <input type='radio' name='pick' value={entry.pick} required checked={isChosen} />
      <span class='title who'>
        <AgentIcon alias={entry.alias} size={20} /> @{entry.alias}
      </span>
      <span class='hint'>Reads and sends as this agent of {entry.accountName}</span>
    </label>
  )
}

function Nothing({ picker: { search } }: { picker: Picker }) {
  return (
    <Notice>
      {search === ''
        ? 'There is nothing here that you could let it be: you are owner or admin of no account, and no agent is yours to act as.'
        : 'No agent of yours has this in its alias or account.'}
    </Notice>
  )
}

function Search({ view: { picker, fields } }: View) {
  return (
    <form method='get' action='/oauth/authorize' role='search' class='line'>
      {fields.map(([name, value]) => <input type='hidden' name={name} value={value} />)}
      <TextInput name='find' label='Find an agent' type='search' value={picker.search} maxLength={100} />
      <SubmitButton kind='plain'>Search</SubmitButton>
    </form>
  )
}

function NewAgent({ view }: View) {
  const accounts = view.picker.makeIn.map(({ accountId, accountName }) => ({ value: accountId, title: accountName }))
  return (
    <details class='more'>
      <summary>
        <Icon name='plus' size={16} /> Make a new agent
      </summary>
      <Form action='/oauth/authorize' csrf={view.csrf}>
        <Handle view={view} />
        <Select name='account' label='Account' options={accounts} isRequired />
        <TextInput
          name='alias'
          label='Alias'
          before='@'
          hint='3 to 32 of a-z, 0-9 and -'
          pattern='[a-z0-9][a-z0-9\-]*[a-z0-9]'
          maxLength={32}
          isRequired
          isMono
        />
        <SubmitButton kind='plain' name='decision' value='new-agent'>Create agent</SubmitButton>
      </Form>
    </details>
  )
}

/** The only entry needs no choosing, but still its Allow. */
function isChosen({ picker, chosen }: ConsentView, pick: string): boolean {
  return chosen === pick || (!picker.hasMore && picker.admins.length + picker.agents.length === 1)
}
