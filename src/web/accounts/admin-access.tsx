/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card, EmptyState, Notice, Time } from '../../html/bits.tsx'
import { Form, SubmitButton, TextInput } from '../../html/form.tsx'
import { ConfirmDelete, CopyBlock, Secret } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { formFault } from '../faults.ts'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'

type AdminKey = Awaited<ReturnType<Visit['account']['read']['keys']['adminKeys']>>[number]
type Member = Awaited<ReturnType<Visit['account']['read']['team']['members']>>[number]

export interface Access {
  keys: AdminKey[]
  /** Who may have made them. */
  members: Member[]
}

/** The card of the admin keys. A key just made is shown in a dialog, once. Spec: "Authentication" 5. */
export function AdminAccess(
  { visit, access, madeKey, url, now }: {
    visit: Visit
    access: Access
    madeKey: { name: string; key: string } | undefined
    /** Of the MCP endpoint. */
    url: string
    now: number
  },
) {
  const lead =
    'Admin keys are for programs that manage agents, channels, skills and guardrails of this account over MCP.'
  if (!visit.may('manage')) {
    return (
      <Card title='Admin Access' lead={lead}>
        <Notice>Only owners and admins of the account can make or see admin keys. You are {visit.actor.role}.</Notice>
      </Card>
    )
  }
  return (
    <>
      {madeKey && (
        <Secret title={`Admin key “${madeKey.name}”`} label='Admin key' secret={madeKey.key}>
          <Usage id='made' url={url} adminKey={madeKey.key} />
        </Secret>
      )}
      <Card title='Admin Access' lead={lead} id='admin-access'>
        <SigningIn url={url} accountName={visit.membership.name} />
        <Generate visit={visit} hasMade={madeKey !== undefined} />
        {access.keys.length === 0
          ? (
            <EmptyState icon='key' title='No admin keys'>
              Nothing manages this account over MCP with a key.
            </EmptyState>
          )
          : <Keys visit={visit} access={access} now={now} />}
      </Card>
      <Card title='Use an admin key' lead='Put the key in the place of ADMIN_API_KEY.'>
        <Usage id='usage' url={url} adminKey='ADMIN_API_KEY' />
        <p class='small soft'>
          To rotate a key, make a new one, switch the client to it, check that it works, and delete the old one. A key
          works as long as whoever made it is owner or admin here.
        </p>
      </Card>
    </>
  )
}

/** The recommended way. Spec: "Authentication" 4. */
function SigningIn({ url, accountName }: { url: string; accountName: string }) {
  return (
    <Notice title='Better than a key: sign in'>
      Give an MCP client <code>{url}</code> without any key. It opens this grid in your browser, where you choose{' '}
      <strong>@admin ({accountName})</strong>. Use keys for programs that nobody watches.
    </Notice>
  )
}

function Generate({ visit, hasMade }: { visit: Visit; hasMade: boolean }) {
  const action = settingsPath(visit, 'account', 'keys')
  const fault = formFault(visit, action, ['name'])
  return (
    <>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action={action} csrf={visit.csrf} isLine>
        <TextInput
          name='keyName'
          label='Name of the key'
          hint='What it is for, for example “deployment”.'
          value={hasMade ? '' : visit.form.get('keyName') ?? ''}
          error={fault.name}
          maxLength={80}
          isRequired
        />
        <SubmitButton>Generate admin key</SubmitButton>
      </Form>
    </>
  )
}

function Keys({ visit, access: { keys, members }, now }: { visit: Visit; access: Access; now: number }) {
  const makerOf = ({ userId }: AdminKey) => {
    if (userId === null) return 'the command line'
    const maker = members.find((member) => member.userId === userId)
    return maker ? maker.name || maker.email : 'somebody who left'
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
        { title: 'By', cell: makerOf },
        {
          title: 'Last used',
          cell: ({ lastUsedAt }) => lastUsedAt === null ? 'never' : <Time at={lastUsedAt} now={now} />,
        },
        {
          title: 'Delete',
          isUntitled: true,
          align: 'end',
          cell: ({ id, name }) => (
            <ConfirmDelete
              action={settingsPath(visit, 'account', 'keys', id, 'delete')}
              csrf={visit.csrf}
              id={id}
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

function Usage({ id, url, adminKey }: { id: string; url: string; adminKey: string }) {
  const server = { type: 'http', url, headers: { Authorization: `Bearer ${adminKey}` } }
  return (
    <div class='stack'>
      <CopyBlock
        id={`${id}-claude`}
        label='Claude Code'
        text={`claude mcp add --transport http agent-grid-admin ${url} --header "Authorization: Bearer ${adminKey}"`}
        wraps
      />
      <CopyBlock
        id={`${id}-json`}
        label='Other MCP clients'
        text={JSON.stringify({ mcpServers: { 'agent-grid-admin': server } }, null, 2)}
      />
    </div>
  )
}
