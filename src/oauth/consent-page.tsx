/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { page } from '../html/layout.tsx'
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
  const { client, redirectUri, person, picker } = view
  const isEmpty = picker.admins.length + picker.agents.length === 0
  return page(
    'Allow access',
    <>
      <h1>
        Allow access for <strong>{redirectHost(redirectUri)}</strong>
      </h1>
      <p>
        A program that calls itself <strong>{client.name}</strong> ({client.domain ?? 'registered itself, unverified'})
        {' '}
        wants to use this grid.
      </p>
      {isLoopbackRedirect(redirectUri) && (
        <p role='note'>
          It runs on this computer. Go on only if you have just started it yourself.
        </p>
      )}
      <p class='soft'>You are signed in as {person}.</p>

      {(picker.hasMore || picker.search !== '') && <Search view={view} />}
      <form method='post' action='/oauth/authorize'>
        <Proof view={view} />
        {isEmpty ? <Nothing picker={picker} /> : (
          <fieldset>
            <legend>Let it act as</legend>
            {picker.admins.map((entry) => (
              <Admin
                key={entry.pick}
                entry={entry}
                isChosen={isChosen(view, entry.pick)}
              />
            ))}
            {picker.agents.map((entry) => (
              <Agent
                key={entry.pick}
                entry={entry}
                isChosen={isChosen(view, entry.pick)}
              />
            ))}
            {picker.hasMore && <p class='soft'>There are more agents. Search for the one you mean.</p>}
          </fieldset>
        )}
        <p>
          {!isEmpty && <button type='submit' name='decision' value='allow'>Allow</button>}{' '}
          <button type='submit' name='decision' value='deny' formnovalidate>Deny</button>
        </p>
      </form>
      {picker.makeIn.length > 0 && <NewAgent view={view} />}
    </>,
  )
}

type View = { view: ConsentView }

/** What every answer comes with. */
function Proof({ view: { csrf, handle } }: View) {
  return (
    <>
      <input type='hidden' name='csrf' value={csrf} />
      <input type='hidden' name='handle' value={handle} />
    </>
  )
}

function Admin({ entry, isChosen }: { entry: AdminEntry; isChosen: boolean }) {
  return (
    <p>
      <label>
        <input type='radio' name='pick' value={entry.pick} required checked={isChosen} /> @admin ({entry.accountName})
        {' '}
        <strong class='badge'>Admin</strong>
        <br />
        <small class='soft'>
          Creates, changes and deletes every agent, channel, skill and guardrail of this account
          {entry.ownerEmail && `, owned by ${entry.ownerEmail}`}
        </small>
      </label>
    </p>
  )
}

function Agent({ entry, isChosen }: { entry: AgentEntry; isChosen: boolean }) {
  return (
    <p>
      <label>
        <input type='radio' name='pick' value={entry.pick} required checked={isChosen} /> @{entry.alias}
        <br />
        <small class='soft'>Reads and sends as this agent of {entry.accountName}</small>
      </label>
    </p>
  )
}

function Nothing({ picker: { search } }: { picker: Picker }) {
  return (
    <p>
      {search === ''
        ? 'There is nothing here that you could let it be: you are owner or admin of no account, and no agent is yours to act as.'
        : 'No agent of yours has this in its alias or account.'}
    </p>
  )
}

function Search({ view: { picker, fields } }: View) {
  return (
    <form method='get' action='/oauth/authorize' role='search'>
      {fields.map(([name, value]) => <input key={name} type='hidden' name={name} value={value} />)}
      <label>
        Find an agent <input type='search' name='find' value={picker.search} maxlength={100} />
      </label>{' '}
      <button type='submit'>Search</button>
    </form>
  )
}

function NewAgent({ view }: View) {
  return (
    <details>
      <summary>Make a new agent</summary>
      <form method='post' action='/oauth/authorize'>
        <Proof view={view} />
        <p>
          <label>
            Account{' '}
            <select name='account' required>
              {view.picker.makeIn.map(({ accountId, accountName }) => (
                <option key={accountId} value={accountId}>{accountName}</option>
              ))}
            </select>
          </label>
        </p>
        <p>
          <label>
            Alias <input name='alias' required minlength={3} maxlength={32} pattern='[a-z0-9][a-z0-9\-]*[a-z0-9]' />
          </label>
        </p>
        <p>
          <button type='submit' name='decision' value='new-agent'>Create agent</button>
        </p>
      </form>
    </details>
  )
}

/** The only entry needs no choosing, but still its Allow. */
function isChosen({ picker, chosen }: ConsentView, pick: string): boolean {
  return chosen === pick || (!picker.hasMore && picker.admins.length + picker.agents.length === 1)
}
