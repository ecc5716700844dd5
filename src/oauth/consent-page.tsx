/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The authorization endpoint's pages: consent, with the account picker, and errors. */
import type { GridError } from '../errors.ts'
import { AgentIcon } from '../html/agent-icon.tsx'
import { isolated, Name } from '../html/bidi.tsx'
import { Badge, Notice } from '../html/components.tsx'
import { Select, TextInput } from '../html/fields.tsx'
import { buttonClass, ButtonLink, Form, SubmitButton } from '../html/form.tsx'
import { Icon } from '../html/icons.tsx'
import { barePage } from '../html/layout.tsx'
import type { OAuthScope } from '../store/global/oauth-grants.ts'
import { errorHeaders, httpStatus } from '../wire.ts'
import type { AccountPicker, AdminEntry, AgentEntry } from './account-picker.ts'
import { isLoopbackRedirect, redirectHost } from './redirect-uri.ts'

interface ConsentView {
  /** The client. `domain` is the host of its metadata document, or undefined if it registered itself. */
  client: { name: string; domain: string | undefined }
  redirectUri: string
  /** The signed-in user's email address. */
  userEmail: string
  csrf: string
  handle: string
  picker: AccountPicker
  /** The value `pick` of the preselected entry. */
  chosen: string | undefined
  path: string
  /** The client's query parameters, which the search form sends again. */
  searchFields: [string, string][]
}

/**
 * The consent page with the account picker. The redirect host comes first, because it is the only thing that a client
 * cannot forge. See docs/security.md, "OAuth".
 */
export function consentPage(view: ConsentView): Promise<Response> {
  const { client, redirectUri, userEmail, picker, csrf } = view
  const isEmpty = picker.admins.length + picker.agents.length === 0
  return barePage(
    { title: 'Allow access', csrf, formTarget: redirectUri },
    <>
      <h1>
        Allow access for <strong>{redirectHost(redirectUri)}</strong>
      </h1>
      <p>
        A program named <strong>{client.name}</strong>{' '}
        <span class='soft'>({client.domain ?? 'registered itself, unverified'})</span> wants to use this grid.
      </p>
      {isLoopbackRedirect(redirectUri) && (
        <Notice kind='warning'>
          This program runs on your computer. Continue only if you started it yourself just now.
        </Notice>
      )}
      {picker.hinted && 'missing' in picker.hinted && (
        <Notice>
          It asks for <strong>@{picker.hinted.missing}</strong>, but you cannot act as an agent with this alias.
          {picker.newAgentAccounts.length > 0 && ' You can create it below, or choose another one.'}
        </Notice>
      )}
      {(picker.isLong || picker.search !== '') && <Search view={view} />}
      <Form action='/oauth/authorize'>
        <HandleField view={view} />
        {isEmpty ? <NoEntries picker={picker} /> : <Entries view={view} />}
        <div class={isEmpty ? 'row' : 'row stays'}>
          {!isEmpty && <SubmitButton name='decision' value='allow' waits>Allow</SubmitButton>}
          <button type='submit' class={buttonClass('plain')} name='decision' value='deny' formnovalidate>Deny</button>
        </div>
      </Form>
      {picker.newAgentAccounts.length > 0 && <NewAgent view={view} />}
      <p class='soft small'>
        You are signed in as {userEmail}. You can disconnect programs under Settings, Sessions.
      </p>
    </>,
  )
}

type ViewProps = { view: ConsentView }

function HandleField({ view: { handle } }: ViewProps) {
  return <input type='hidden' name='handle' value={handle} />
}

function Entries({ view }: ViewProps) {
  const { picker } = view
  return (
    <fieldset class='choices cards'>
      <legend>Authorize it as</legend>
      {picker.admins.length > 0 && <AdminRights />}
      {picker.admins.map((entry) => <Admin entry={entry} isChosen={isPreselected(view, entry.pick)} />)}
      {picker.agents.length > 0 && <AgentRights />}
      {picker.agents.map((entry) => <Agent entry={entry} isChosen={isPreselected(view, entry.pick)} />)}
      {picker.hasMore && <p class='hint'>There are more agents. Use the search to find the one you want.</p>}
    </fieldset>
  )
}

function AdminRights() {
  return (
    <p class='hint'>
      As <strong>@admin</strong>{' '}
      it can list, create and delete agents and channels, and set skills, guardrails and members. It gets the key of
      each agent that it creates. It cannot read other inboxes, replace other keys, or change the team.
    </p>
  )
}

function AgentRights() {
  return (
    <p class='hint'>
      As an <strong>agent</strong>{' '}
      it can read and send messages, see the agents and channels that the agent sees, change its skills, and fetch a
      key. A new key replaces only the one of the same name that this program fetched before, and ends when you
      disconnect it.
    </p>
  )
}

function Admin({ entry, isChosen }: { entry: AdminEntry; isChosen: boolean }) {
  return (
    <label class='choice'>
      <input type='radio' name='pick' value={entry.pick} required checked={isChosen} />
      <span class='title'>
        @admin (<Name text={entry.accountName} />) <Badge kind='warning'>Admin</Badge>
      </span>
      {entry.ownerEmail && <span class='hint'>Owned by {entry.ownerEmail}</span>}
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
      {entry.description && <span class='hint cut' dir='auto'>{entry.description}</span>}
      <span class='hint'>
        Agent of <Name text={entry.accountName} />
      </span>
    </label>
  )
}

function NoEntries({ picker: { search, scopes } }: { picker: AccountPicker }) {
  return (
    <Notice>
      {search === ''
        ? whyEmpty(scopes)
        : 'Nothing that you can choose contains this text in its alias, description or account name.'}
    </Notice>
  )
}

function whyEmpty(scopes: OAuthScope[]): string {
  const noAdmin = 'you are not an owner or admin of any account'
  const noAgent = 'no account gives you access to an agent'
  if (!scopes.includes('agent:use')) {
    return `This program asks to administer an account, and ${noAdmin}. An owner or admin can authorize it, or make you an admin.`
  }
  return scopes.includes('admin')
    ? `There is nothing you can authorize this program for: ${noAdmin}, and ${noAgent}.`
    : `This program asks to act as an agent, and ${noAgent}.`
}

function Search({ view: { picker, path, searchFields } }: ViewProps) {
  return (
    <form method='get' action={path} role='search' class='line'>
      {searchFields.map(([name, value]) => <input type='hidden' name={name} value={value} />)}
      <TextInput name='find' label='Find an agent or account' type='search' value={picker.search} maxLength={100} />
      <SubmitButton kind='plain'>Search</SubmitButton>
      {picker.search !== '' && <ButtonLink href={`${path}?${new URLSearchParams(searchFields)}`}>Show all</ButtonLink>}
    </form>
  )
}

function NewAgent({ view }: ViewProps) {
  const accounts = view.picker.newAgentAccounts.map(({ accountId, accountName }) => ({
    value: accountId,
    title: isolated(accountName),
  }))
  const { hinted } = view.picker
  const wanted = hinted && 'missing' in hinted ? hinted.missing : undefined
  return (
    <details class='more' open={wanted !== undefined}>
      <summary>
        <Icon name='plus' size={16} /> Create a new agent
      </summary>
      <Form action='/oauth/authorize'>
        <HandleField view={view} />
        <Select name='account' label='Account' options={accounts} isRequired />
        <TextInput
          name='alias'
          label='Alias'
          before='@'
          value={wanted}
          hint='3 to 32 characters: a-z, 0-9 and -'
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

/** Whether an entry is preselected: it was just created, the client requested it, or it is the only one. */
function isPreselected({ picker, chosen }: ConsentView, pick: string): boolean {
  const { hinted } = picker
  if (chosen !== undefined) return chosen === pick
  if (hinted) return 'entry' in hinted && hinted.entry.pick === pick
  return !picker.hasMore && picker.admins.length + picker.agents.length === 1
}

/**
 * Shows the user why authorization failed. Never redirects to the client. `returnTo` is the address that reports the
 * error to the client. The page shows the host of this address and links to it.
 */
export async function authorizationErrorPage(
  error: GridError,
  { status = httpStatus[error.kind], returnTo }: { status?: number; returnTo?: string } = {},
): Promise<Response> {
  const response = await barePage(
    { title: 'Authorization failed', status },
    <>
      <h1>Authorization failed</h1>
      <p>{error.message}</p>
      <p class='soft'>
        No access was granted. Go back, or start again from the program that sent you here.
      </p>
      {returnTo !== undefined && (
        <>
          <p>
            You can go back to the program at{' '}
            <strong>{redirectHost(returnTo)}</strong>. You have not authorized this program, so check the address first.
          </p>
          <ButtonLink href={returnTo}>Go to {redirectHost(returnTo)}</ButtonLink>
        </>
      )}
    </>,
  )
  for (const [name, value] of Object.entries(errorHeaders(error))) response.headers.set(name, value)
  return response
}
