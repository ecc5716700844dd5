/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Name } from '../../html/bidi.tsx'
import { Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { SubmitButton } from '../../html/form.tsx'
import { ConfirmDelete, SecretDialog } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { mcpSnippets, serverName } from '../../clients/snippets.ts'
import { Snippets } from '../agents/connect.tsx'
import { PageForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { AccountSubject, Visit } from '../visit.ts'

type AdminKey = Awaited<ReturnType<Visit['account']['read']['keys']['adminKeys']>>[number]
type ListedMember = Awaited<ReturnType<Visit['account']['read']['team']['members']>>[number]

export const adminAccess: AccountSubject = {
  path: 'keys',
  title: 'Admin access',
  words: 'admin keys api programs mcp rest',
  may: 'manage',
  async state(visit) {
    const { length } = await visit.account.read.keys.adminKeys()
    return { text: length === 0 ? 'No admin keys' : `${length} admin ${length === 1 ? 'key' : 'keys'}`, link: 'Open' }
  },
  page: (visit) => showAdminAccess(visit),
}

/** Renders the page's content. A new key is shown once, in a dialog. See docs/protocol/README.md, "Admin keys". */
export async function showAdminAccess(visit: Visit, createdKey?: CreatedKey) {
  const { read, deps: { config, now } } = visit.account
  const [keys, members] = await Promise.all([read.keys.adminKeys(), read.team.members()])
  return (
    <>
      {createdKey && (
        <SecretDialog title={`Admin key “${createdKey.name}”`} label='Admin key' secret={createdKey.key}>
          <Usage id='created' baseUrl={config.appUrl} adminKey={createdKey.key} />
        </SecretDialog>
      )}
      <Card
        title='Admin access'
        lead='With an admin key, a program can manage the agents, channels, skills and guardrails of this account over MCP and REST.'
      >
        <OAuthHint url={`${config.appUrl}/mcp/v1/grid`} accountName={visit.membership.name} />
        <GenerateForm visit={visit} />
        {keys.length === 0
          ? (
            <EmptyState icon='key' title='No admin keys'>
              No program can manage this account over MCP with a key.
            </EmptyState>
          )
          : <KeyTable visit={visit} keys={keys} members={members} now={now()} />}
      </Card>
      <Card title='Use an admin key' lead='Replace ADMIN_API_KEY with the key.'>
        <Usage id='usage' baseUrl={config.appUrl} adminKey='ADMIN_API_KEY' />
        <p class='small soft'>
          To rotate a key, generate a new one, switch the client to it, check that it works, and delete the old one. A
          key works as long as its creator is an owner or admin of this account.
        </p>
      </Card>
    </>
  )
}

/** A new key, which is shown once. */
export interface CreatedKey {
  name: string
  key: string
}

/** Recommends OAuth instead of a key. See docs/protocol/oauth.md, "Account picker". */
function OAuthHint({ url, accountName }: { url: string; accountName: string }) {
  return (
    <Notice title='We recommend OAuth instead of a key'>
      Configure the MCP client with <code>{url}</code> and no key. It opens this grid in your browser, where you choose
      {' '}
      <strong>
        @admin (<Name text={accountName} />)
      </strong>. Use keys for programs that run unattended.
    </Notice>
  )
}

function GenerateForm({ visit }: { visit: Visit }) {
  return (
    <PageForm visit={visit} acts action={settingsPath(visit, 'account', 'keys')} fields={['name']} isLine>
      <TextInput
        name='name'
        id='key-name'
        label='Name of the key'
        hint='What it is for, for example “deployment”.'
        maxLength={80}
        isRequired
      />
      <SubmitButton>Generate admin key</SubmitButton>
    </PageForm>
  )
}

function KeyTable(
  { visit, keys, members, now }: {
    visit: Visit
    keys: AdminKey[]
    /** The account's members, used to name each key's creator. */
    members: ListedMember[]
    now: number
  },
) {
  const creatorOf = ({ userId }: AdminKey) => {
    if (userId === null) return 'the command line'
    const creator = members.find((member) => member.userId === userId)
    return creator ? creator.name || creator.email : 'a former member'
  }
  return (
    <Table
      id='admin-keys'
      caption='Live admin keys'
      rows={keys}
      columns={[
        { title: 'Name', cell: ({ name }) => name },
        { title: 'Key', cell: ({ last4 }) => <code>…{last4}</code> },
        { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
        { title: 'By', cell: creatorOf },
        { title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} now={now} /> },
        {
          title: 'Delete',
          isUntitled: true,
          cell: ({ id, name }) => (
            <ConfirmDelete
              action={settingsPath(visit, 'account', 'keys', id, 'delete')}
              isSmall
              question={
                <>
                  Delete <strong>{name}</strong>? It stops working at once, and this cannot be undone.
                </>
              }
            />
          ),
        },
      ]}
    />
  )
}

function Usage({ id, baseUrl, adminKey }: { id: string; baseUrl: string; adminKey: string }) {
  return (
    <Snippets
      group={id}
      snippets={mcpSnippets({ baseUrl, key: adminKey, name: `${serverName}-admin` })}
      isOpen
    />
  )
}
